"""Estimate of the remaining time of a run from the times of earlier tasks."""

from collections import Counter
from collections.abc import Iterable

from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task


class TimeLeft:
    """Expected time of the remaining tasks, from the mean time of tasks of the same kind.

    A kind is (data, method, select). Tasks of one kind take about the same time, but kinds differ
    by a factor of a hundred, so the fraction of completed tasks would be misleading. Earlier
    results in the store provide times before the first task ends.
    """

    def __init__(self, tasks: Iterable[Task], store: Store, jobs: int) -> None:
        self._left = Counter((task.data, task.method, task.select) for task in tasks)
        self._sums = {kind: [mean * n, n] for kind, (mean, n) in store.mean_seconds().items()}
        self._jobs = max(1, jobs)

    def note(self, result: Result) -> None:
        """Record the end of a task."""
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
