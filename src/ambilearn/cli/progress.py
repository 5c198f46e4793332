"""Progress bars of experiments and downloads."""

from time import monotonic
from typing import TYPE_CHECKING, Any

from rich import progress

from ambilearn._utils.interrupts import run_to_end
from ambilearn._utils.text import format_duration

if TYPE_CHECKING:
    from ambilearn.cli.console import Console
    from ambilearn.experiments.run import TimeLeft
    from ambilearn.experiments.task import Result


class TaskBar:
    """Number of finished tasks and remaining time: a bar in a terminal, lines in a log file.

    ``time_left`` is updated with every result. A log file has a line every ``every`` seconds, and
    always one for the last task.
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
        """Count a finished task."""
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
        run_to_end(self._bar.start)
        return self

    def __exit__(self, *_: object) -> None:
        _stop(self._bar)


class DownloadBar:
    """Number of downloaded bytes, with the interface that pooch expects."""

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
        """Count bytes; the first call shows the bar."""
        if self._task is None:
            run_to_end(self._bar.start)
            self._task = self._bar.add_task(self._name, total=self.total or None)
        self._bar.advance(self._task, count)

    def reset(self) -> None:
        """Set the number of bytes to zero; called by pooch."""
        if self._task is not None:
            self._bar.reset(self._task)

    def close(self) -> None:
        """Do nothing: ``__exit__`` ends the bar."""


def _stop(bar: progress.Progress) -> None:
    """End a bar; rich before 15 would print an empty line for a disabled one."""
    if not bar.disable:
        run_to_end(bar.stop)
