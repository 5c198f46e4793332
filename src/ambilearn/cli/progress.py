"""Bars that show how far a run of tasks or a download has come."""

from time import monotonic
from typing import TYPE_CHECKING, Any

from rich import progress

from ambilearn._utils.text import format_duration

if TYPE_CHECKING:
    from ambilearn.cli.console import Console
    from ambilearn.experiments.task import Result
    from ambilearn.experiments.time_left import TimeLeft


class TaskBar:
    """Tasks that are done, with the time left: a bar in a terminal, lines in a log file.

    Parameters
    ----------
    console : Console
        Where to show it.
    n_tasks : int
        What is to be done.
    time_left : TimeLeft
        Estimate, which is told of every result.
    every : float, default=30
        Seconds between two lines of a log file; the last task has a line in any case.
    """

    def __init__(
        self, console: "Console", n_tasks: int, time_left: "TimeLeft", *, every: float = 30.0
    ) -> None:
        self._console, self._time_left, self._every = console, time_left, every
        self._n_tasks, self._n_done, self._n_failed = n_tasks, 0, 0
        self._printed = monotonic()
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[left]}"),
            console=console.rich,
            disable=not console.rich.is_interactive,
        )
        self._task = self._bar.add_task("measuring", total=n_tasks, left="")

    def note(self, result: "Result") -> None:
        """Count a task that ended."""
        self._time_left.note(result)
        self._n_done += 1
        self._n_failed += result.status == "failed"
        left = f"about {format_duration(self._time_left.seconds())} left"
        if self._n_failed:
            left += f", {self._n_failed} failed"
        self._bar.update(self._task, advance=1, left=left, refresh=True)
        due = monotonic() - self._printed >= self._every or self._n_done == self._n_tasks
        if due and not self._console.rich.is_interactive:
            self._printed = monotonic()
            self._console.say(f"{self._n_done}/{self._n_tasks} tasks, {left}")

    def __enter__(self) -> "TaskBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        _stop(self._bar)


class DownloadBar:
    """Bytes that have arrived, behind the interface that pooch expects.

    Parameters
    ----------
    console : Console
        Where to show it; nothing is left of it in the end.
    name : str
        What is downloaded.
    """

    def __init__(self, console: "Console", name: str) -> None:
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
            console=console.rich,
            disable=not console.rich.is_interactive,
            transient=True,
        )
        self._name = name
        self._task: Any = None
        self.total = 0

    def __enter__(self) -> "DownloadBar":
        return self

    def __exit__(self, *_: object) -> None:
        _stop(self._bar)

    def update(self, count: int) -> None:
        """Count bytes; the bar appears with the first of them."""
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=self.total or None)
        self._bar.advance(self._task, count)

    def reset(self) -> None:
        """Start over, as pooch does before it fills the bar."""
        if self._task is not None:
            self._bar.reset(self._task)

    def close(self) -> None:
        """Nothing to do: the bar ends with its block."""


def _stop(bar: progress.Progress) -> None:
    """End a bar. rich before 15 ends one that was never shown by an empty line."""
    if not bar.disable:
        bar.stop()
