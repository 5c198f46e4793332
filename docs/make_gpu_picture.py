"""Draw seconds against rows on a GPU and on a CPU, and print the tables of the page.

What ``benchmarks/gpu.py`` printed is kept in ``gpu.jsonl``; run this to write ``_static/gpu.png``
and to print the tables of ``gpu.md`` again.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

HERE = Path(__file__).parent
RESULTS = [json.loads(line) for line in (HERE / "gpu.jsonl").read_text().splitlines()]
PARTS = {
    "kernel": "kernel matrix",
    "cholesky": "factorization",
    "neighbors": "neighbors",
    "neighbor_weights": "weights of the graph",
    "regressions": "regressions",
    "confidences": "confidences",
}


def results(*benchmarks: str) -> list[dict]:
    """What the named benchmarks printed, by the number of rows."""
    found = [result for result in RESULTS if result["benchmark"] in benchmarks]
    return sorted(found, key=lambda result: result["rows"])


def curve() -> list[dict]:
    """Fits of 64 features and 100 labels on the GPU."""
    return [each for each in results("gpu_curve", "gpu_fit") if each["features"] == 64]


def print_tables() -> None:
    """Sizes, parts, agreement with the CPU, and stacks, each as a table of the page."""
    cpu = {each["rows"]: each["seconds"] for each in results("gpu_curve_cpu")}
    print("| rows | GPU, s | CPU, s | floor, s | memory, GiB | rows predicted per second |")
    print("|---|---|---|---|---|---|")
    for each in curve():
        beside = f"{cpu[each['rows']]:.2g}" if each["rows"] in cpu else ""
        print(
            f"| {_spaced(each['rows'])} | {each['seconds']:.2g} | {beside} "
            f"| {each['floor_s']:.2g} | {each['peak_gib']:.2g} "
            f"| {_spaced(each['rows_per_second'])} |"
        )
    print()
    named = results("gpu_fit")
    print("| part | " + " | ".join(f"{_spaced(each['rows'])} rows" for each in named) + " |")
    print("|---|" + "---|" * len(named))
    for key, name in PARTS.items():
        values = " | ".join(f"{each[f'{key}_s']:.2g}" for each in named)
        print(f"| {name} | {values} |")
    print("| all, s | " + " | ".join(f"**{each['seconds']:.3g}**" for each in named) + " |")
    print("| over the floor | " + " | ".join(f"{each['over_floor']:.2g}" for each in named) + " |")
    print()
    print(
        "| data | confidences | outputs | predictions that differ | confidences from float32 "
        "| predictions from float32 that differ |"
    )
    print("|---|---|---|---|---|---|")
    for each in results("gpu_agreement"):
        print(
            f"| {each['data']} | {each['confidences']:.0e} | {each['scores']:.0e} "
            f"| {each['predictions_differ']} | {each['float32_confidences']:.0e} "
            f"| {each['float32_predictions_differ']} |"
        )
    print()
    print("| rows | PL-CL, s | stack, s | times | memory, GiB |")
    print("|---|---|---|---|---|")
    for each in results("gpu_stack"):
        print(
            f"| {_spaced(each['rows'])} | {each['plcl_seconds']:.2g} | {each['seconds']:.2g} "
            f"| {each['time_ratio']:.2g} | {each['peak_gib']:.2g} |"
        )


def _spaced(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def draw(path: Path) -> None:
    """Seconds against rows on logarithmic axes: GPU, CPU, and the floor."""
    fig, panel = plt.subplots(figsize=(6.4, 4.2), constrained_layout=True)
    there, here = curve(), results("gpu_curve_cpu")
    for points, key, label, style in (
        (here, "seconds", "CPU, 16 cores", {"color": "#d55e00", "marker": "s"}),
        (there, "seconds", "one H200", {"color": "#0072b2", "marker": "o"}),
        (there, "floor_s", "its floor", {"color": "#0072b2", "linestyle": ":"}),
    ):
        panel.loglog(
            [each["rows"] for each in points], [each[key] for each in points], label=label, **style
        )
    panel.set(xlabel="rows", title="seconds of an exact fit, 8 iterations", ylim=(1e-2, 300))
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    panel.grid(True, which="major", alpha=0.3)
    panel.legend(frameon=False)
    fig.savefig(path, dpi=120)


if __name__ == "__main__":
    plt.switch_backend("Agg")
    draw(HERE / "_static" / "gpu.png")
    print_tables()
