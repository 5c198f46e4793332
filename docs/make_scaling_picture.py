"""Draw time and memory against the number of rows, from what the benchmarks printed.

The lines of ``benchmarks/million_rows.py`` (exact and with landmarks) and of
``benchmarks/distributed_plcl.py`` are kept in ``scaling.jsonl``; run this to write
``_static/scaling.png`` again.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

HERE = Path(__file__).parent
STYLES = {
    "exact kernel": ("#d55e00", "s"),
    "500 landmarks": ("#0072b2", "o"),
    "two Dask workers": ("#009e73", "^"),
}


def curves() -> dict[str, np.ndarray]:
    """Rows, seconds and bytes of every measurement, by what was measured; sorted by rows."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in STYLES}
    for line in (HERE / "scaling.jsonl").read_text().splitlines():
        result = json.loads(line)
        if result["benchmark"] == "distributed_plcl":
            memory = result["peak_memory_driver"] + result["peak_memory_workers"]
            found["two Dask workers"].append((result["rows"], result["fit"], memory))
            continue
        name = "500 landmarks" if result["landmarks"] else "exact kernel"
        for one in result["sizes"]:
            found[name].append((one["rows"], one["fit"], one["peak_memory"]))
    return {name: np.array(sorted(points)) for name, points in found.items() if points}


def slope(rows: np.ndarray, values: np.ndarray) -> float:
    """Of the line from the middle of the sizes to the largest, both axes logarithmic."""
    ends = [min(len(rows) // 2, len(rows) - 2), -1]
    return float(np.diff(np.log(values[ends]))[0] / np.diff(np.log(rows[ends]))[0])


def draw(path: Path) -> None:
    """Two log-log panels, each curve with its slope."""
    fig, panels = plt.subplots(1, 2, figsize=(10, 4.2), constrained_layout=True)
    for panel, column, scale, title in (
        (panels[0], 1, 1, "seconds"),
        (panels[1], 2, 2**30, "peak memory, GiB"),
    ):
        for name, points in curves().items():
            color, marker = STYLES[name]
            rows, values = points[:, 0], points[:, column] / scale
            label = f"{name}: slope {slope(rows, values):.2f}"
            panel.loglog(rows, values, marker=marker, color=color, label=label)
        panel.set(xlabel="rows", title=title)
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.grid(True, which="major", alpha=0.3)
        panel.legend(frameon=False)
    fig.savefig(path, dpi=120)


if __name__ == "__main__":
    plt.switch_backend("Agg")
    draw(HERE / "_static" / "scaling.png")
