"""Warnings that point to the line in the user's code."""

import sys
import warnings
from types import FrameType

# Frames of these packages are skipped: the user calls Pipeline.fit, not the calls inside it.
_LIBRARY_PACKAGES = {"ambilearn", "sklearn", "joblib"}


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
