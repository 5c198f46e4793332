"""Hyper-parameters chosen with the test labels: an upper bound of tuning, not a valid result.

A task with ``select="oracle"`` stores the scores of every point of its search, which can be read in
two ways: the best point of each run, and the single point with the best mean over the runs, which
may be how papers choose parameters *per data set*. The points are the same in all runs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ambilearn.experiments.scores import score_by_truth
from ambilearn.experiments.splits import Split
from ambilearn.experiments.task import Result, Task
from ambilearn.selection import draw_points, fit_points, include_current

CHOSEN_BY = "accuracy"  # on the test rows


def try_points(task: Task, split: Split) -> tuple[dict[str, float], dict[str, Any]]:
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
