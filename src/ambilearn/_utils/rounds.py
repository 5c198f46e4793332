"""Rounds of a long fit, reported to whoever started it, and how much time is left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import ceil, log
from time import monotonic
from typing import NamedTuple

from ambilearn._utils.text import format_duration


class Round(NamedTuple):
    """A round that ended.

    Attributes
    ----------
    name : str
        Class of the estimator.
    number : int
        Rounds done.
    limit : int
        Rounds at most.
    change : float
        How much the confidences changed.
    tol : float
        The change at which the rounds end.
    """

    name: str
    number: int
    limit: int
    change: float
    tol: float


_listener: ContextVar[Callable[[Round], None] | None] = ContextVar("listener", default=None)


def report_round(done: Round) -> None:
    """Report the end of a round to the listener, if there is one in this thread."""
    listener = _listener.get()
    if listener is not None:
        listener(done)


@contextmanager
def listen_to_rounds(listener: Callable[[Round], None]) -> Iterator[None]:
    """A context in which ``listener`` is called at the end of each round of any fit."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class TimeLeft:
    """Time that is left of a number of steps, each about as long as those before.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()

    def describe(self, done: int, left: int) -> str:
        """``", about 12 s left"``, or nothing before a step is done and for less than a second."""
        seconds = (self._clock() - self._began) / done * left if done else 0.0
        return f", about {format_duration(seconds)} left" if seconds >= 1 else ""


class RoundProgress:
    """A listener that describes the rounds of a fit, a few times each second at most.

    Parameters
    ----------
    stage : str
        What is done: ``"fitting PL-CL to 60 rows"``.
    progress : callable
        Gets the text: ``"fitting PL-CL to 60 rows: round 3 of at most 50, about 2 s left"``.
    only : str, optional
        Class of the estimator whose rounds count; those of estimators inside it do not.
    clock : callable, default=time.monotonic
        Seconds.
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

    def __call__(self, done: Round) -> None:
        """Note the end of a round."""
        if self._only is not None and done.name != self._only:
            return
        if done.number == 1 and self._only is None:  # perhaps the next member of a stack
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


def rounds_left(changes: list[float], done: Round) -> int | None:
    """How many rounds will follow if the change goes on to shrink as it did; None if unknown.

    Parameters
    ----------
    changes : list of float
        The changes so far.
    done : Round
        The last round.

    Returns
    -------
    int or None

    Examples
    --------
    >>> from ambilearn._utils.rounds import Round, rounds_left
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
