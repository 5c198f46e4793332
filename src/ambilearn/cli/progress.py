"""Progress of a run, with an estimate of the time left that knows how long tasks take."""

from collections import Counter
from collections.abc import Iterable
from time import monotonic
from typing import Any

from ambilearn.experiments.execute import Result
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Task


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


def duration(seconds: float | None) -> str:
    """Text for a time.

    Examples
    --------
    >>> from ambilearn.cli.progress import duration
    >>> duration(42), duration(3725), duration(None)
    ('42 s', '1 h 02 min', '?')
    """
    if seconds is None:
        return "?"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"


class ProgressBar:
    """A bar in a terminal; elsewhere, as in a log file, a line now and then."""

    _every = 30.0  # seconds between lines

    def __init__(self, console: Any, n_tasks: int, time_left: TimeLeft) -> None:
        from rich import progress

        self._console, self._time_left = console, time_left
        self._n_tasks, self._n_done, self._n_failed = n_tasks, 0, 0
        self._printed = monotonic()
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[left]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("measuring", total=n_tasks, left="")

    def note(self, result: Result) -> None:
        """Count a task that ended."""
        self._time_left.note(result)
        self._n_done += 1
        self._n_failed += result.status == "failed"
        left = f"about {duration(self._time_left.seconds())} left"
        if self._n_failed:
            left += f", {self._n_failed} failed"
        self._bar.update(self._task, advance=1, left=left)
        due = monotonic() - self._printed >= self._every or self._n_done == self._n_tasks
        if due and not self._console.is_terminal:
            self._printed = monotonic()
            self._console.print(f"{self._n_done}/{self._n_tasks} tasks, {left}", soft_wrap=True)

    def __enter__(self) -> "ProgressBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
