"""The runner: executes the tasks that are not in the store and saves their results."""

import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import fmean

from ambilearn.experiments.execute import environment, execute
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task


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


class TimeLeft:
    """Expected time of the remaining tasks, from the mean time of tasks of the same kind.

    A kind is (data, method, select). Tasks of one kind take about the same time, but kinds differ
    by a factor of a hundred, so the fraction of completed tasks would be misleading. Earlier
    results in the store provide times before the first task ends.
    """

    def __init__(self, tasks: Iterable[Task], store: Store, jobs: int) -> None:
        self._left = Counter((task.data, task.method, task.select) for task in tasks)
        self._seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for result in store.results().values():
            if result.status == "done":
                self._seconds[_kind(result)].append(result.seconds)
        self._jobs = max(1, jobs)

    def note(self, result: Result) -> None:
        """Record the end of a task."""
        self._left[_kind(result)] -= 1
        self._seconds[_kind(result)].append(result.seconds)

    def seconds(self) -> float | None:
        """Expected seconds; None before any task has ended."""
        if not self._seconds:
            return None
        means = {kind: fmean(each) for kind, each in self._seconds.items()}
        typical = fmean(means.values())
        return sum(n * means.get(kind, typical) for kind, n in self._left.items()) / self._jobs


def _kind(result: Result) -> tuple[str, str, str]:
    return result.task["data"], result.task["method"], result.task["select"]
