"""Hyper-parameters chosen by the test labels: what tuning could gain at most, and no result.

A task with ``select="oracle"`` measures every point of its search and keeps all of them, so that
what was stored can be read in two ways: the best point of every single run, and the one point that
is best in the mean over the runs, which is how a paper's parameters *per data set* may have been
found. The points are the same in all runs.
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
    """Measure every point of a task's search, the method's own parameters among them.

    Returns
    -------
    scores : dict
        Those of the point with the best test accuracy; the first of equals.
    details : dict
        Its parameters as ``chosen``, and all points as ``tried``, each with ``params`` and
        ``scores``.
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
    """The same runs, read with the one point that has the best mean test accuracy over them."""
    if not runs:
        return {}
    by_run = [[p["scores"][CHOSEN_BY] for p in r.details["tried"]] for r in runs.values()]
    best = int(np.argmax(np.mean(by_run, axis=0)))  # the first of equals
    read = {}
    for run, result in runs.items():
        point = result.details["tried"][best]
        details = result.details | {"chosen": point["params"]}
        read[run] = replace(result, scores=point["scores"], details=details)
    return read
