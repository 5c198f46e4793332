"""The runner: executes the tasks that are not in the store and saves their results."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ambilearn.experiments.backends import on_cluster, on_processes
from ambilearn.experiments.claims import Claim, Claims
from ambilearn.experiments.environment import environment
from ambilearn.experiments.execute import execute
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task


@dataclass(frozen=True)
class RunSummary:
    """Numbers of tasks of a run.

    Attributes
    ----------
    already_done : int
        Tasks that had a result before the run.
    done, failed : int
        Tasks that ended during the run, by status.
    elsewhere : int
        Tasks among these that another runner on the same store executed.
    """

    already_done: int
    done: int
    failed: int
    elsewhere: int = 0


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
    cluster: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    again: bool = False,
    on_result: Callable[[Result], None] = lambda result: None,
    on_wait: Callable[[str], None] = lambda text: None,
) -> RunSummary:
    """Execute the tasks that are not in the store, and save each result as soon as it is done.

    If it is killed, only the running tasks are lost; call it again to continue. Several runners on
    one store share the work: each executes tasks that no other runner has claimed, and waits for
    the others at the end. Only this process writes to the store; workers send their results here.

    -1 jobs are one per core. ``cluster`` is the address of a Dask scheduler to use instead, or
    ``"local"`` to start one on this machine. The folder ``data_home`` is the same on all machines.
    ``again`` repeats tasks that are done. ``on_result`` is called with each result after it is
    saved, including those of other runners; ``on_wait`` with a status message before waiting for
    another runner.
    """
    tasks = list({task.key: task for task in tasks}.values())
    missing = missing_tasks(tasks, store, again=again)

    function = partial(execute, data_home=None if data_home is None else str(data_home))
    counts = {"done": 0, "failed": 0}

    def note(result: Result) -> None:
        counts[result.status] += 1
        on_result(result)

    def note_others(keys: list[str]) -> None:
        while keys:
            if (result := store.result(keys.pop())) is not None:
                elsewhere.append(result.key)
                note(result)

    elsewhere: list[str] = []
    with Claims(store) as claims:
        waiting = missing
        while waiting:
            shared = _SharedTasks(waiting, claims)
            if cluster is None:
                results = on_processes(function, shared, jobs)
            else:
                results = on_cluster(function, shared, cluster, jobs)
            for result in results:
                store.save(result, environment())
                note(result)
                note_others(shared.settled)
            note_others(shared.settled)
            waiting = shared.of_others
            claims.wait_for_others([task.key for task in waiting], on_wait)
    return RunSummary(len(tasks) - len(missing), **counts, elsewhere=len(elsewhere))


class _SharedTasks:
    """Iterator over the tasks that this runner can claim; collects the other tasks."""

    def __init__(self, tasks: Iterable[Task], claims: Claims) -> None:
        self._tasks, self._claims = tasks, claims
        self.of_others: list[Task] = []
        self.settled: list[str] = []

    def __iter__(self) -> Iterator[Task]:
        for task in self._tasks:
            claim = self._claims.take(task.key)
            if claim is Claim.OURS:
                yield task
            elif claim is Claim.OTHERS:
                self.of_others.append(task)
            else:
                self.settled.append(task.key)
