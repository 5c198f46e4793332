"""Draw accuracy against the share of rows that lost their true label, and print the tables.

The lines of ``benchmarks/fragility.py`` are kept in ``fragility.jsonl``; run this to write
``_static/fragility.png`` again, and to print the tables of
``measurements/truth-not-in-the-set.md``.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from ambilearn.experiments.figures import _STYLE, _style

HERE = Path(__file__).parent
DATA = {"lost": "Lost", "msrcv2": "MSRCv2", "music": "music clips"}
METHODS = {
    "PLStacking": "PLStacking",
    "PLCL": "PL-CL",
    "SURE": "SURE",
    "LALO": "LALO",
    "PLAGGD": "PL-AGGD",
    "IPAL": "IPAL",
    "PLKNN": "PL-KNN",
    "PLDA": "PLDA",
    "PLVoting": "PLVoting",
    "PLCP": "PLCP",
}
DRAWN = list(METHODS)[:8]  # curves of the others would lie on these
ROWS = {"accuracy": "accuracy on new rows", "transductive": "accuracy of cleaned labels"}
LINES = [json.loads(line) for line in (HERE / "fragility.jsonl").read_text().splitlines()]


def points(**wanted: object) -> list[dict[str, Any]]:
    """The lines with these values, by η."""
    found = [line for line in LINES if all(line[key] == value for key, value in wanted.items())]
    return sorted(found, key=lambda line: line["eta"])


def draw(path: Path) -> None:
    """A row of panels for each score, a column for each data set."""
    with plt.rc_context(_STYLE):
        fig, axes = plt.subplots(2, 3, figsize=(9, 5.4), sharex=True, sharey="row")
        for row, (score, label) in zip(axes, ROWS.items(), strict=True):
            row[0].set_ylabel(label)
            for panel, (data, title) in zip(row, DATA.items(), strict=True):
                panel.set_ylim(0, 1)
                for i, method in enumerate(DRAWN):
                    curve = points(data=data, method=method, noise="swap")
                    values, name = [line[score] for line in curve], METHODS[method]
                    panel.plot([line["eta"] for line in curve], values, label=name, **_style(i))
                curve = points(data=data, method="plain labels", noise="swap")
                values = [line[score] for line in curve]
                style = {"color": "#999999", "linewidth": 3, "zorder": 1}
                panel.plot([line["eta"] for line in curve], values, label="plain labels", **style)
                if score == "accuracy":
                    panel.set_title(title)
                else:
                    panel.set_xlabel("η, share of rows that lose their truth")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        fig.savefig(path, dpi=100)


def print_tables() -> None:
    """Accuracy on new rows, a line for each method; in parentheses that of the cleaned labels."""
    etas = [line["eta"] for line in points(data="lost", method="PLCL", noise="swap")]
    for data, title in DATA.items():
        print(f"\n| {title} | {' | '.join(f'η = {eta:g}' for eta in etas)} |")
        print("|---|" + "---|" * len(etas))
        for method, name in {**METHODS, "plain labels": "plain labels"}.items():
            curve = points(data=data, method=method, noise="swap")
            cells = (f"{line['accuracy']:.3f} ({line['transductive']:.3f})" for line in curve)
            print(f"| {name} | {' | '.join(cells)} |".replace("0.", "."))
    heads = (f"{title}, η = {eta}" for title in DATA.values() for eta in (0.1, 0.3))
    print(f"\n| dropped | {' | '.join(heads)} |\n|---|" + "---|" * 2 * len(DATA))
    for method, name in METHODS.items():
        cells = []
        for data in DATA:
            drop = points(data=data, method=method, noise="drop")
            cells += [f"{line['accuracy']:.3f}".replace("0.", ".") for line in drop]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    plt.switch_backend("Agg")
    draw(HERE / "_static" / "fragility.png")
    print_tables()
