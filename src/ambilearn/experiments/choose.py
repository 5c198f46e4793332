"""Hyper-parameters of a task: by candidate sets alone, or, as an upper bound, by the test labels.

The search itself is :mod:`ambilearn.selection`.
"""

from typing import Any

import numpy as np

from ambilearn.experiments.seeds import derive_seed
from ambilearn.experiments.splits import Split
from ambilearn.experiments.task import Task
from ambilearn.metrics import accuracy, approximated_accuracy_scorer, covering_rate_scorer
from ambilearn.selection import CandidateSearchCV, draw_points, fit_points, include_current

_SCORERS = {"approximated": approximated_accuracy_scorer, "covering": covering_rate_scorer}


def choose(task: Task, split: Split) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the grid for one split.

    Returns
    -------
    chosen : dict
        Parameters.
    account : dict
        How they were found: the number of ``points`` tried and the best ``score``.
    """
    search = task.search
    # The points belong to the run, not to the way of choosing: both ways see the same ones.
    seed = derive_seed("search", task.data, task.candidates and dict(task.candidates), task.run)
    model = task.estimator()
    if task.select == "label-free":
        found = CandidateSearchCV(
            model,
            search["grid"],
            n_points=search["points"],
            include_current=True,
            scoring=_SCORERS[search["scoring"]],
            halving=search["kind"] == "halving",
            refit=False,
            random_state=seed,
        ).fit(split.X_train, split.candidates)
        n_points = len(found.cv_results_["params"])
        account = {"points": n_points, "fits": found.n_fits_, "score": found.best_score_}
        return found.best_params_, account

    points = draw_points(search["grid"], search["points"], seed)
    points = include_current(model, points)[: search["points"]]
    fits = fit_points(model, points, split.X_train, split.candidates)
    scores = [accuracy(split.y_test, fitted.predict(split.X_test)) for fitted in fits]
    best = int(np.argmax(scores))  # the first of equals
    return points[best], {"points": len(points), "fits": len(points), "score": scores[best]}
