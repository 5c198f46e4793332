"""How long a run will go on, from how long tasks took."""

from collections import Counter
from collections.abc import Iterable

from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task


class TimeLeft:
    """Expected time of the tasks that are left, from the mean time of tasks of their kind.

    A kind is (data, method, select): within it tasks take about the same time, while kinds differ
    a hundredfold, so that the mere share of tasks done would mislead.

    Parameters
    ----------
    tasks : iterable of Task
        What is to be done.
    store : Store
        Earlier results, whose times serve until there are new ones.
    jobs : int
        Tasks at a time.
    """

    def __init__(self, tasks: Iterable[Task], store: Store, jobs: int) -> None:
        self._left = Counter((task.data, task.method, task.select) for task in tasks)
        self._sums = {kind: [mean * n, n] for kind, (mean, n) in store.mean_seconds().items()}
        self._jobs = max(1, jobs)

    def note(self, result: Result) -> None:
        """Count a task that ended."""
        kind = (result.task["data"], result.task["method"], result.task["select"])
        self._left[kind] -= 1
        total = self._sums.setdefault(kind, [0.0, 0])
        total[0] += result.seconds
        total[1] += 1

    def seconds(self) -> float | None:
        """Expected seconds; None before any task has ended."""
        if not self._sums:
            return None
        means = {kind: total / n for kind, (total, n) in self._sums.items()}
        typical = sum(means.values()) / len(means)
        return sum(n * means.get(kind, typical) for kind, n in self._left.items()) / self._jobs
