"""Execution of one task, and the environment of its result: versions, commit, machine."""

import platform
import subprocess
import traceback
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from threadpoolctl import threadpool_limits

from ambilearn.experiments.splits import make_split, score_model
from ambilearn.experiments.task import Content, Result, Task

_PACKAGES = ("ambilearn", "numpy", "scipy", "scikit-learn", "joblib")


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


def _fit_and_measure(task: Task, data_home: str | None) -> tuple[dict[str, float], Content]:
    split = make_split(task, data_home)
    if task.select == "oracle":
        from ambilearn.experiments.choose import try_points

        return try_points(task, split)
    model = task.estimator()
    details: Content = {}
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
