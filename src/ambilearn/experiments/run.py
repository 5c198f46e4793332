"""The runner: executes the tasks that are not in the store and saves their results.

Each result has its environment: versions, commit, machine. The search without true labels is
:mod:`ambilearn.selection`. The choice by the test labels (``select="oracle"``) is an upper bound of
tuning, not a valid result.
"""

import os
import platform
import subprocess
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from threadpoolctl import threadpool_limits

from ambilearn.experiments.splits import Split, make_split, score_by_truth, score_model
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import CHOSEN_BY, Content, Result, Task
from ambilearn.selection import CandidateSearchCV, draw_points, fit_points, include_current


def missing_tasks(tasks: Iterable[Task], store: Store, *, again: bool = False) -> list[Task]:
    """Tasks without a result and failed tasks, without duplicates; ``again`` adds those done."""
    unique = {task.key: task for task in tasks}
    done = {} if again else store.results(unique)
    return [t for key, t in unique.items() if key not in done or done[key].status == "failed"]


def run_tasks(
    tasks: Iterable[Task],
    store: Store,
    *,
    jobs: int = 1,
    data_home: str | os.PathLike[str] | None = None,
    again: bool = False,
    on_result: Callable[[Result], object] = lambda result: None,
) -> dict[str, int]:
    """Execute the tasks that are not in the store, and save each result as soon as it is done.

    If it is killed, only the running tasks are lost; call it again to continue. Only one run writes
    to a store at a time: another one raises StoreError.

    -1 jobs are one per core. ``again`` repeats tasks that are done. ``on_result`` is called with
    each result after it is saved. Returns the numbers of tasks that are ``"done"`` and
    ``"failed"``.
    """
    function = partial(execute, data_home=None if data_home is None else str(data_home))
    counts = {"done": 0, "failed": 0}
    with store.only_writer():
        for result in on_processes(function, missing_tasks(tasks, store, again=again), jobs):
            store.save(result, environment())
            counts[result.status] += 1
            on_result(result)
    return counts


def on_processes(
    function: Callable[[Task], Result], tasks: Iterable[Task], jobs: int
) -> Iterator[Result]:
    """Execute tasks on processes of this machine; yields the results as they are done.

    A task is taken when a process is nearly free, not before. Raises ChildProcessError if the
    system killed a process.
    """
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed

    # No batches: a batch returns its first result only when its last task is done.
    pool = Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="2*n_jobs",
        initializer=_end_with_parent,
        initargs=(os.getpid(),),
    )
    try:
        yield from pool(delayed(function)(task) for task in tasks)
    except BrokenProcessPool as error:  # base class of joblib's exception
        raise ChildProcessError(
            "A worker process was killed, possibly by the system because memory ran out: use fewer "
            "--jobs."
        ) from error


def _end_with_parent(parent: int) -> None:
    """End this worker when its parent has ended; otherwise it would wait for work for minutes.

    The parent passes its process id because it can end before the worker starts.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
