"""The runner: whatever is not yet in the store is measured and put there."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ambilearn.experiments.backends import on_cluster, on_processes
from ambilearn.experiments.environment import environment
from ambilearn.experiments.execute import Result, execute
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Task


@dataclass(frozen=True)
class RunSummary:
    """What a run did."""

    already_done: int
    done: int
    failed: int


def missing_tasks(tasks: Iterable[Task], store: Store, *, again: bool = False) -> list[Task]:
    """Tasks without a result, each once; failed ones are tried again.

    Parameters
    ----------
    tasks : iterable of Task
        What is wanted.
    store : Store
        What there is.
    again : bool, default=False
        Whether to measure also what is done.
    """
    unique = {task.key: task for task in tasks}
    done = {} if again else store.results(unique)
    return [t for key, t in unique.items() if key not in done or done[key].status == "failed"]


def run_tasks(
    tasks: Iterable[Task],
    store: Store,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    again: bool = False,
    on_result: Callable[[Result], None] = lambda result: None,
) -> RunSummary:
    """Measure the tasks that are not in the store, and store each as soon as it is done.

    Killed at any moment it has lost the tasks in flight and no other: call it again.

    Parameters
    ----------
    tasks : iterable of Task
        What is wanted.
    store : Store
        Where results are, and go. Only this process writes; workers send their results here.
    jobs : int, default=1
        Processes on this machine; -1 for one per core.
    cluster : str, optional
        Address of a Dask scheduler to use instead, or ``"local"`` to start one here.
    data_home : path-like, optional
        Folder with the data files, on every machine that takes part.
    again : bool, default=False
        Whether to measure also what is done already.
    on_result : callable
        Called with each result, after it is stored.

    Returns
    -------
    RunSummary
    """
    tasks = list({task.key: task for task in tasks}.values())
    missing = missing_tasks(tasks, store, again=again)

    def still_missing() -> Iterator[Task]:
        # Asked task by task: a second runner may have been faster.
        return (task for task in missing if again or not store.is_done(task.key))

    function = partial(execute, data_home=None if data_home is None else str(data_home))
    if cluster is None:
        results = on_processes(function, still_missing(), jobs)
    else:
        results = on_cluster(function, still_missing(), cluster, jobs)
    counts = {"done": 0, "failed": 0}
    for result in results:
        store.save(result, environment())
        counts[result.status] += 1
        on_result(result)
    return RunSummary(already_done=len(tasks) - len(missing), **counts)
