"""Execution of one task. All back ends call the same function."""

import traceback
import warnings
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_limits

from ambilearn.experiments.scores import score_model
from ambilearn.experiments.splits import make_split
from ambilearn.experiments.task import Result, Task


def execute(task: Task, data_home: str | None = None) -> Result:
    """Select parameters, fit and score as the task defines; errors are stored in the result."""
    began = perf_counter()
    try:
        # One thread per process: cores are not oversubscribed, and the order of summation is fixed,
        # so that results do not depend on the number of processes and cores.
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scores, details = _fit_and_measure(task, data_home)
    except Exception:
        return Result(
            task.key,
            task.definition,
            "failed",
            error=traceback.format_exc(),
            seconds=perf_counter() - began,
        )
    details["warnings"] = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    return Result(
        task.key, task.definition, "done", scores, details, seconds=perf_counter() - began
    )


def _fit_and_measure(task: Task, data_home: str | None) -> tuple[dict[str, float], dict[str, Any]]:
    split = make_split(task, data_home)
    if task.select == "oracle":
        from ambilearn.experiments.oracle import try_points

        return try_points(task, split)
    model = task.estimator()
    details: dict[str, Any] = {}
    if task.select == "label-free":
        from ambilearn.experiments.choose import choose

        chosen, details["search"] = choose(task, split)
        details["chosen"] = chosen
        model.set_params(**chosen)
    model.fit(split.X_train, split.candidates)
    if getattr(model, "n_iter_", None) is not None:
        details["n_iter"] = int(model.n_iter_)
    if getattr(model, "objective_", None) is not None:
        details["objective"] = [float(value) for value in model.objective_]
    return score_model(model, split), details
