"""Print the tables of ``measurements/stacking.md``.

The lines of ``benchmarks/stacking_accuracy.py`` are kept in ``stacking.jsonl``. The first table has
every method, with the best row that the PL-CL paper prints for any of them; the second one their
measured and published accuracy, the third one results of other weights, members and outputs.
"""

import json
from pathlib import Path
from typing import Any

from ambilearn.experiments.results import published_cells

HERE = Path(__file__).parent
DATA = {"lost": "Lost", "msrcv2": "MSRCv2", "fg-net": "FG-NET"}
ROWS = {"lost": 561, "msrcv2": 879, "fg-net": 501}  # of each half, for training and new ones
METHODS = {
    "PLKNN": "PL-KNN",
    "PLDA": "PLDA",
    "IPAL": "IPAL",
    "LALO": "LALO",
    "SURE": "SURE",
    "PLAGGD": "PL-AGGD",
    "PLCL": "PL-CL",
}
WRAPPERS = {"PLCP": "PLCP"}
ENSEMBLES = {
    "PLVoting": "`PLVoting()`",
    "PLStacking": "**`PLStacking()`**",
    "PLStacking, PL-CL on top": "… PL-CL alone on top",
    "PLStacking, IPAL on top": "… IPAL alone on top",
}
VARIANTS = {  # of which only the new rows are shown
    "PLVoting": "`PLVoting()`, equal weights",
    "PLVoting, members by covering rate": "… members by covering rate",
    "PLVoting, members by approximated accuracy": "… members by approximated accuracy",
    "PLStacking": "`PLStacking()`, equal weights",
    "PLStacking, weights by covering rate": "… weights by covering rate",
    "PLStacking, weights by approximated accuracy": "… weights by approximated accuracy",
    "PLStacking, five folds": "… outputs from five folds",
}
FIGURES = ("accuracy", "within_3", "transductive")
LINES = [json.loads(line) for line in (HERE / "stacking.jsonl").read_text("utf-8").splitlines()]


def line(data: str, learner: str) -> dict[str, Any]:
    """What was measured of a learner.

    The lines keep four digits. Shares are of a whole number of rows, so that they are taken back to
    that: three of four digits would be rounded twice.
    """
    (found,) = [x for x in LINES if (x["data"], x["learner"]) == (data, learner)]
    rows = ROWS[data] * found["seeds"]
    return found | {figure: round(found[figure] * rows) / rows for figure in FIGURES}


def short(value: float) -> str:
    """Three digits, without the leading zero."""
    return f"{value:.3f}".removeprefix("0")


def print_tables() -> None:
    """Methods and ensembles; beside the published figures; variants of the ensembles."""
    print(f"| new rows / training rows | {' | '.join(DATA.values())} | FG-NET, within 3 years |")
    print("|---|---|---|---|---|")
    for learner, name in {**METHODS, **WRAPPERS, **ENSEMBLES}.items():
        found = [line(data, learner) for data in DATA]
        cells = [f"{short(x['accuracy'])} / {short(x['transductive'])}" for x in found]
        print(f"| {name} | {' | '.join(cells)} | {short(found[-1]['within_3'])} |")
    accuracy, training = published_cells("real-world"), published_cells("transductive")
    methods = METHODS.values()
    best = [
        " / ".join(
            short(max(table[method, data, metric].mean for method in methods))
            for table, metric in ((accuracy, "accuracy"), (training, "transductive"))
        )
        for data in DATA
    ]
    years = short(max(accuracy[method, "fg-net", "accuracy@3"].mean for method in methods))
    print(f"| *best published row, any method* | {' | '.join(best)} | {years} |")

    print("\n| new rows, here / published | " + " | ".join(DATA.values()) + " |\n|---|---|---|---|")
    for learner, name in METHODS.items():
        cells = [
            f"{short(line(data, learner)['accuracy'])} / "
            f"{short(accuracy[name, data, 'accuracy'].mean)}"
            for data in DATA
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    stack = [short(line(data, "PLStacking")["accuracy"]) for data in DATA]
    print(f"| **`PLStacking()`** | {' / – | '.join(stack)} / – |")

    print(f"\n| new rows | {' | '.join(DATA.values())} | FG-NET, within 3 years |")
    print("|---|---|---|---|---|")
    for learner, name in VARIANTS.items():
        found = [line(data, learner) for data in DATA]
        cells = [short(x["accuracy"]) for x in found] + [short(found[-1]["within_3"])]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    print_tables()
