"""Progress of a fit: a description of its iterations, and the remaining time."""

from collections.abc import Callable
from math import ceil, log
from time import monotonic
from typing import TYPE_CHECKING

from ambilearn._utils.text import format_duration

if TYPE_CHECKING:
    from ambilearn._utils.rounds import Round


class TimeLeft:
    """Estimate of the remaining time, assuming steps of equal length."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()

    def describe(self, done: int, left: int) -> str:
        """``", about 12 s left"``; empty before the first step and for less than a second."""
        seconds = (self._clock() - self._began) / done * left if done else 0.0
        return f", about {format_duration(seconds)} left" if seconds >= 1 else ""


class RoundProgress:
    """Listener that describes the progress of a fit, at most five times per second.

    ``stage`` describes the fit, such as ``"fitting PL-CL to 60 rows"``. ``progress`` is called with
    a status message, such as ``"fitting PL-CL to 60 rows: round 3 of at most 50, about 2 s left"``.
    If ``only`` is the class of an estimator, the iterations of nested estimators are ignored.
    """

    def __init__(
        self,
        stage: str,
        progress: Callable[[str], None],
        *,
        only: str | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._stage, self._progress, self._only, self._clock = stage, progress, only, clock
        self._changes: list[float] = []
        self._time_left = TimeLeft(clock)
        self._shown = float("inf")
        progress(stage)

    def __call__(self, done: "Round") -> None:
        """Record the end of an iteration."""
        if self._only is not None and done.name != self._only:
            return
        if done.text:
            self._progress(f"{self._stage}: {done.text}")
            return
        if done.number == 1 and self._only is None:  # possibly the next member of a stack
            self._changes = []
            self._time_left = TimeLeft(self._clock)
            return
        self._changes.append(done.change)
        left = rounds_left(self._changes, done)
        if left == 0 or 0 <= self._clock() - self._shown < 0.2:
            return
        self._shown = self._clock()
        member = "" if self._only else f"{done.name}, "
        self._progress(
            f"{self._stage}: {member}round {done.number + 1} of at most {done.limit}"
            f"{'' if left is None else self._time_left.describe(len(self._changes), left)}"
        )


def rounds_left(changes: list[float], done: "Round") -> int | None:
    """Estimated number of remaining iterations, assuming a constant rate; None if unknown.

    ``changes`` has the changes of the iterations so far; ``done`` is the last iteration.
    >>> from ambilearn._utils.rounds import Round

    >>> rounds_left([0.4, 0.2, 0.1], Round("PLCL", 3, 50, 0.1, 0.01))
    4
    """
    most = done.limit - done.number
    if done.tol <= 0:
        return most
    if done.change <= done.tol:
        return 0
    if len(changes) < 2:
        return None
    rate = (changes[-1] / changes[0]) ** (1 / (len(changes) - 1))
    return most if rate >= 1 else min(most, ceil(log(done.tol / done.change) / log(rate)))
