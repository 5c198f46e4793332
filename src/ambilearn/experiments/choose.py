"""Choice of the hyper-parameters of a task, without true labels or by the test labels.

The search without true labels is :mod:`ambilearn.selection`. The choice by the test labels is an
upper bound of tuning, not a valid result: a task with ``select="oracle"`` stores the scores of
every point of its search, which can be read in two ways: the best point of each run, and the single
point with the best mean over the runs, which may be how papers choose parameters *per data set*.
The points are the same in all runs.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ambilearn._utils.text import shorten_repr
from ambilearn.experiments.splits import Split, score_by_truth
from ambilearn.experiments.task import Content, Result, Task
from ambilearn.selection import CandidateSearchCV, draw_points, fit_points, include_current

SEARCHES = ("random", "halving", "grid")
SCORINGS = ("covering", "approximated")
DEFAULT_SEARCH = "halving:16"
MAX_DIGITS = 9  # digits of the number of points; no grid has more points
CHOSEN_BY = "accuracy"  # of an oracle, on the test rows
_SCORING = {"approximated": "approximated_accuracy", "covering": "covering_rate"}


def parse_search(text: str, scoring: str = SCORINGS[0]) -> Content:
    """Parse ``random:N``, ``halving:N`` or ``grid`` to the ``search`` of a task.

    ``scoring`` is the metric of the label-free choice: covering rate or approximated accuracy.

    >>> parse_search("halving:16")
    {'kind': 'halving', 'points': 16, 'scoring': 'covering'}
    """
    if scoring not in SCORINGS:
        raise ValueError(f"The scoring must be one of {', '.join(SCORINGS)}; got {scoring!r}.")
    kind, _, number = text.partition(":")
    if kind not in SEARCHES or (kind == "grid") == bool(number):
        raise ValueError(
            f"The search must be random:N, halving:N or grid; got {shorten_repr(text)}."
        )
    if kind == "grid":
        return {"kind": kind, "points": None, "scoring": scoring}
    if not number.isdecimal() or len(number) > MAX_DIGITS or int(number) < 1:
        raise ValueError(
            f"The number of points must be at least 1 and have at most {MAX_DIGITS} digits; got "
            f"{shorten_repr(text)}."
        )
    return {"kind": kind, "points": int(number), "scoring": scoring}


def choose(task: Task, split: Split) -> tuple[Content, Content]:
    """Parameters of the grid for one split, and a summary of the search.

    The summary has the number of ``points`` and ``fits``, and the best ``score``.
    """
    search = task.search
    found = CandidateSearchCV(
        task.estimator(),
        search["grid"],
        n_points=search["points"],
        include_current=True,
        scoring=_SCORING[search["scoring"]],
        halving=search["kind"] == "halving",
        refit=False,
        random_state=search["seed"],
    ).fit(split.X_train, split.candidates)
    n_points = len(found.cv_results_["params"])
    account = {"points": n_points, "fits": found.n_fits_, "score": found.best_score_}
    return found.best_params_, account


def try_points(task: Task, split: Split) -> tuple[dict[str, float], Content]:
    """Score every point of the search of a task, including the current parameters.

    Returns the scores of the first point with the best test accuracy, and details: the parameters
    of this point as ``chosen``, and all points as ``tried``, each with ``params`` and ``scores``.
    """
    search, model = task.search, task.estimator()
    points = draw_points(search["grid"], search["points"], search["seed"])
    points = include_current(model, points)[: search["points"]]
    fits = fit_points(model, points, split.X_train, split.candidates)
    tried = [
        {"params": point, "scores": score_by_truth(fitted, split)}
        for point, fitted in zip(points, fits, strict=True)
    ]
    best = tried[int(np.argmax([point["scores"][CHOSEN_BY] for point in tried]))]
    account = {"points": len(points), "fits": len(points), "score": best["scores"][CHOSEN_BY]}
    return best["scores"], {"search": account, "chosen": best["params"], "tried": tried}


def choose_for_all_runs(runs: Mapping[int, Result]) -> dict[int, Result]:
    """Runs with the scores of the single point that has the best mean test accuracy."""
    if not runs:
        return {}
    by_run = [[p["scores"][CHOSEN_BY] for p in r.details["tried"]] for r in runs.values()]
    best = int(np.argmax(np.mean(by_run, axis=0)))  # ties keep the order of the points
    read = {}
    for run, result in runs.items():
        point = result.details["tried"][best]
        details = result.details | {"chosen": point["params"]}
        read[run] = replace(result, scores=point["scores"], details=details)
    return read
