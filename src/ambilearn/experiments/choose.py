"""Hyper-parameters of a task: by candidate sets alone, or, as an upper bound, by the test labels.

The search itself is :mod:`ambilearn.selection`.
"""

from typing import Any

from ambilearn.experiments.seeds import seed_of
from ambilearn.experiments.splits import Split
from ambilearn.experiments.task import Task
from ambilearn.metrics import accuracy, approximated_accuracy_scorer, covering_rate_scorer
from ambilearn.selection import best_by_candidates, best_point, draw_points, score_points

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
    seed = seed_of("search", task.data, task.candidates and dict(task.candidates), task.run)
    model = task.estimator()
    points = _with_own_first(model, draw_points(search["grid"], search["points"], seed))
    if task.select == "label-free":
        found = best_by_candidates(
            model,
            points,
            split.X_train,
            split.candidates,
            scoring=_SCORERS[search["scoring"]],
            halving=search["kind"] == "halving",
            random_state=seed,
        )
        return found.params, {"points": len(points), "fits": found.n_fits, "score": found.score}

    def on_test_labels(fitted: Any) -> float:
        return accuracy(split.y_test, fitted.predict(split.X_test))

    scores = score_points(model, points, split.X_train, split.candidates, on_test_labels)
    best = best_point(scores)
    return points[best], {"points": len(points), "fits": len(points), "score": scores[best]}


def _with_own_first(model: Any, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many points, the first of them what the model has: no search is blind to the defaults."""
    own = {name: model.get_params()[name] for name in points[0]}
    return [own, *(point for point in points if point != own)][: len(points)]
