"""Warnings that point to the line in the user's code."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import FrameType
from typing import Any

# Frames of these packages are skipped: the user calls Pipeline.fit, not the calls inside it.
_LIBRARY_PACKAGES = {"ambilearn", "sklearn", "joblib"}


_lock = Lock()
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
