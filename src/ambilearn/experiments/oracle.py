"""Parameters chosen by the test labels: an upper bound for tuning, not a fair result.

A task with ``select="oracle"`` measures and stores every point of its search, so that the stored
results can be read in two ways: the best point of every single run, or the one point that is best
on average over the runs, which may be how the paper chose parameters *per data set*. The points are
the same in all runs.
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
        Those of the point with the best test accuracy; ties keep the input order.
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
    best = int(np.argmax(np.mean(by_run, axis=0)))  # ties keep the input order
    read = {}
    for run, result in runs.items():
        point = result.details["tried"][best]
        details = result.details | {"chosen": point["params"]}
        read[run] = replace(result, scores=point["scores"], details=details)
    return read
