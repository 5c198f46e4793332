"""Execution of one task, and the environment of its result: versions, commit, machine.

The search without true labels is :mod:`ambilearn.selection`. The choice by the test labels
(``select="oracle"``) is an upper bound of tuning, not a valid result.
"""

import platform
import subprocess
import traceback
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from threadpoolctl import threadpool_limits

from ambilearn.experiments.splits import Split, make_split, score_by_truth, score_model
from ambilearn.experiments.task import CHOSEN_BY, Content, Result, Task
from ambilearn.selection import CandidateSearchCV, draw_points, fit_points, include_current

_PACKAGES = ("ambilearn", "numpy", "scipy", "scikit-learn", "joblib")
_SCORING = {"approximated": "approximated_accuracy", "covering": "covering_rate"}


def execute(task: Task, data_home: str | None = None) -> Result:
    """Select parameters, fit and score as the task defines; errors are stored in the result."""
    began = perf_counter()
    scores: dict[str, float] = {}
    details: Content = {}
    error = ""
    # One thread per process: cores are not oversubscribed, and the order of summation is fixed,
    # so that results do not depend on the number of processes and cores.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores, details = _fit_and_measure(task, data_home)
        except Exception:
            error = traceback.format_exc()
    details["warnings"] = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    status, seconds = "failed" if error else "done", perf_counter() - began
    return Result(task.key, task.definition, status, scores, details, error, seconds)


def _fit_and_measure(task: Task, data_home: str | None) -> tuple[dict[str, float], Content]:
    split = make_split(task, data_home)
    if task.select == "oracle":
        return try_points(task, split)
    model = task.estimator()
    details: Content = {}
    if task.select == "label-free":
        details["chosen"], details["search"] = choose(task, split)
        model.set_params(**details["chosen"])
    model.fit(split.X_train, split.candidates)
    if getattr(model, "n_iter_", None) is not None:
        details["n_iter"] = int(model.n_iter_)
    if getattr(model, "objective_", None) is not None:
        details["objective"] = [float(value) for value in model.objective_]
    return score_model(model, split), details


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
    best = max(tried, key=lambda point: point["scores"][CHOSEN_BY])  # the first of equal ones
    account = {"points": len(points), "fits": len(points), "score": best["scores"][CHOSEN_BY]}
    return best["scores"], {"search": account, "chosen": best["params"], "tried": tried}


@cache
def environment() -> Content:
    """Versions of Python and packages, commit of this code, and host."""
    return {
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "commit": _commit(),
        "host": platform.node(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Commit of the checkout of this file, with ``+`` if the code has uncommitted changes.

    None for an installed copy, even inside the checkout of another project.
    """
    package = Path(__file__).resolve().parents[1]

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if not git("ls-files", "__init__.py"):
            return None
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(git("status", "-s", "."))
    except (OSError, subprocess.CalledProcessError):
        return None
