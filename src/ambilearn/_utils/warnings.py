"""Warnings that point to the line in the user's code, and Ctrl-C while something is completed."""

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

# Frames of these packages are skipped: the user calls Pipeline.fit, not the calls inside it.
_LIBRARY_PACKAGES = {"ambilearn", "sklearn", "joblib"}


_lock = threading.Lock()
_saved: Any = None
_n_contexts = 0


class InterruptedWarning(UserWarning):
    """Ctrl-C ended a computation early; its results so far are used."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the line that called this library or scikit-learn as location."""
    frame, stacklevel = sys._getframe(1), 2
    outer, passed = frame, 0
    while outer.f_back and _package(outer) == _package(frame):
        outer, passed = outer.f_back, passed + 1
    # The library called a method of the user's own package, which warns.
    if _package(outer) in _LIBRARY_PACKAGES:
        frame, stacklevel = outer, stacklevel + passed
    while frame.f_back and _package(frame) in _LIBRARY_PACKAGES:
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)


def _package(frame: FrameType) -> str:
    module: str = frame.f_globals.get("__name__", "")
    return module.partition(".")[0]


@contextmanager
def ignoring(category: type[Warning]) -> Iterator[None]:
    """Context that ignores a category of warnings.

    Several threads may enter and leave it in any order; the last one restores the filters.
    ``warnings.catch_warnings`` restores the filters that it has found, those of another thread:
    warnings could stay off in the process.
    """
    global _saved, _n_contexts
    with _lock:
        if not _n_contexts:
            _saved = warnings.catch_warnings()
            _saved.__enter__()
        warnings.simplefilter("ignore", category)
        _n_contexts += 1
    try:
        yield
    finally:
        with _lock:
            _n_contexts -= 1
            if not _n_contexts:
                _saved.__exit__(None, None, None)


# --- Ctrl-C ---------------------------------------------------------------------------------------

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
