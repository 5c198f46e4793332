"""Print the tables of ``measurements/interactive-review.md``.

``review_session.jsonl`` has the lines of ``benchmarks/review_curves.py --session``, of
``benchmarks/review_latency.py``, and sums of the lines of ``benchmarks/review_curves.py
--coverage``. With names of files, it is written anew from the lines in these files.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

STORE = Path(__file__).parent / "review_session.jsonl"
DATA = {"lost": "Lost", "msrcv2": "MSRCv2", "music": "music clips"}
METHODS = {"plcl": "PL-CL", "stack": "stack"}
SHARES = (0.05, 0.1, 0.2)
Lines = list[dict[str, Any]]


def read(path: Path) -> Lines:
    """The lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def store(lines: Lines) -> None:
    """Write the lines of sessions and times, and the sums of the intervals."""
    sums: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    for line in lines:
        if line["benchmark"] == "review_coverage" and line["low"] is not None:
            found = sums[line["data"], line["settled"]]
            found[0] += 1
            found[1] += line["low"] <= line["truth"] <= line["high"]
    kept = [line for line in lines if line["benchmark"] != "review_coverage"]
    for (data, settled), (runs, covered) in sorted(sums.items()):
        names = {"benchmark": "review_coverage", "data": data, "settled": settled}
        kept.append(names | {"runs": runs, "covered": covered})
    STORE.write_text("".join(json.dumps(line) + "\n" for line in kept))


def print_gains(lines: Lines, score: str) -> None:
    """Mean gain of both orders over the halves, and the mean of the difference."""
    found = {
        (line["data"], line["order"], line["settled"], line["seed"]): line[score]
        for line in lines
        if line["benchmark"] == "review_session"
    }
    print("| | settled | session | new order at each step | difference |\n|---|---|---|---|---|")
    for data, title in DATA.items():
        for share in SHARES:
            seeds = sorted({key[3] for key in found if key[:3] == (data, "session", share)})
            session, rounds = (
                np.array([found[data, order, share, seed] for seed in seeds])
                for order in ("session", "in rounds")
            )
            difference = with_interval(session - rounds, "+.3f")
            cells = [title, per_cent(share), with_interval(session), with_interval(rounds)]
            print("| " + " | ".join([*cells, difference]).strip() + " |")
            title = ""


def with_interval(values: Any, form: str = ".3f") -> str:
    """Mean with half the 95 % interval."""
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():{form}} ± {half:.3f}".replace("0.", ".").replace("-", "−")


def per_cent(share: float) -> str:
    """As in a text."""
    return f"{100 * share:.0f} %"


def print_coverage(lines: Lines) -> None:
    """Share of the sessions whose interval covers the truth, at each point."""
    found = [line for line in lines if line["benchmark"] == "review_coverage"]
    shares = sorted({line["settled"] for line in found})
    print(f"| settled | {' | '.join(map(per_cent, shares))} |")
    print("|---|" + "---|" * len(shares))
    for data, title in DATA.items():
        at = {line["settled"]: line for line in found if line["data"] == data}
        cells = [
            f" {at[s]['covered'] / at[s]['runs']:.3f} ({at[s]['runs']}) ".replace("0.", ".")
            if s in at
            else " "
            for s in shares
        ]
        print(f"| {title} |{'|'.join(cells)}|")


def total_coverage(lines: Lines) -> tuple[float, float]:
    """Share of all intervals that are correct, and the lowest share of all data at one point."""
    found = [line for line in lines if line["benchmark"] == "review_coverage"]
    points = [
        [line for line in found if line["settled"] == s] for s in {f["settled"] for f in found}
    ]
    shares = [sum(f["covered"] for f in at) / sum(f["runs"] for f in at) for at in [found, *points]]
    return shares[0], min(shares)


def print_latency(lines: Lines) -> None:
    """Times until an answer is confirmed, without the disk, and until the order follows."""
    print("| method | rows | | 50 % | 90 % | 99 % | longest |\n|---|---|---|---|---|---|---|")
    names = {"answer": "confirmed", "rest": "without the disk", "order": "new order"}
    for line in lines:
        if line["benchmark"] != "review_latency":
            continue
        head = f"{METHODS[line['method']]} | {line['rows']:,}"
        for part, name in names.items():
            times = [f"{1000 * line[f'{part}_p{p}']:,.0f}" for p in (50, 90, 99, 100)]
            print(f"| {head} | {name} | {' | '.join(times)} |")
            head = " | "


if __name__ == "__main__":
    if sys.argv[1:]:
        store([line for name in sys.argv[1:] for line in read(Path(name))])
    lines = read(STORE)
    print_gains(lines, "gain")
    print_gains(lines, "gain_new_rows")
    print_coverage(lines)
    print(*total_coverage(lines))
    print_latency(lines)
