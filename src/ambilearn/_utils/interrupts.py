"""Ctrl-C while something must be completed: a file, or one of several fits."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_complete_fits_only = ContextVar("_complete_fits_only", default=False)


@contextmanager
def delaying_interrupts() -> Iterator[list[int]]:
    """Collect the signals of Ctrl-C instead of raising KeyboardInterrupt.

    In a thread that is not the main thread, which gets no signals, the list stays empty.

    >>> import signal
    >>> with delaying_interrupts() as pressed:
    ...     signal.raise_signal(signal.SIGINT)
    >>> len(pressed)
    1
    """
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def run_to_end(function: Callable[[], object]) -> None:
    """Call a function, and handle a Ctrl-C that comes meanwhile after it has returned."""
    with delaying_interrupts() as pressed:
        function()
    if pressed:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def complete_fits_only() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in fits that otherwise return a less trained model.

    For fits that are compared or combined with others, as those of folds.
    """
    token = _complete_fits_only.set(True)
    try:
        yield
    finally:
        _complete_fits_only.reset(token)


def may_end_early() -> bool:
    """Whether Ctrl-C may end a fit with a model that can be used."""
    return not _complete_fits_only.get()
