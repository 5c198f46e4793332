"""Draw accuracy against the share of rows that a person corrected, and print the tables.

The lines of ``benchmarks/review_curves.py`` are kept in ``review_curves.jsonl``; run this to write
``_static/review-curves.png`` again, and to print the tables of
``measurements/truth-not-in-the-set.md``.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from ambilearn.experiments.figures import _STYLE, _style

HERE = Path(__file__).parent
DATA = {"lost": "Lost", "msrcv2": "MSRCv2", "music": "music clips"}
ORDERS = {
    "review": "order of review_rank",
    "review, in rounds": "… new order at each step",
    "doubt and margin": "earlier order of review",
    "doubt and margin, in rounds": "… new order at each step, earlier",
    "margin": "margin",
    "chance": "random",
    "oracle": "rows without true label first",
}
ROWS = {"transductive": "accuracy of cleaned labels", "accuracy": "accuracy on new rows"}
LINES = [json.loads(line) for line in (HERE / "review_curves.jsonl").read_text().splitlines()]


def points(data: str, order: str) -> list[dict[str, Any]]:
    """The lines of one curve, by the share of corrected rows."""
    found = [line for line in LINES if (line["data"], line["order"]) == (data, order)]
    return sorted(found, key=lambda line: line["settled"])


def draw(path: Path) -> None:
    """A row of panels for each score, a column for each data set."""
    with plt.rc_context(_STYLE):
        fig, axes = plt.subplots(2, 3, figsize=(9, 5.4), sharex=True)
        for row, (score, label) in zip(axes, ROWS.items(), strict=True):
            row[0].set_ylabel(label)
            for panel, (data, title) in zip(row, DATA.items(), strict=True):
                for i, (order, name) in enumerate(ORDERS.items()):
                    curve = points(data, order)
                    shares = [100 * line["settled"] for line in curve]
                    style = _style(i) | ({"color": "#999999"} if order == "oracle" else {})
                    panel.plot(shares, [line[score] for line in curve], label=name, **style)
                if score == "transductive":
                    panel.set_title(title)
                else:
                    panel.set_xlabel("corrected rows, %")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        fig.savefig(path, dpi=100)


def print_tables() -> None:
    """Accuracy of cleaned labels; in parentheses of new rows."""
    for data, title in DATA.items():
        shares = [line["settled"] for line in points(data, "margin")]
        print(f"\n| {title} | {' | '.join(f'{share:.0%}' for share in shares)} |")
        print("|---|" + "---|" * len(shares))
        for order, name in ORDERS.items():
            curve = points(data, order)
            cells = (f"{line['transductive']:.3f} ({line['accuracy']:.3f})" for line in curve)
            print(f"| {name} | {' | '.join(cells)} |".replace("0.", "."))


if __name__ == "__main__":
    plt.switch_backend("Agg")
    draw(HERE / "_static" / "review-curves.png")
    print_tables()
