"""Ctrl-C while something must be completed, such as a file."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
