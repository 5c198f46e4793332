"""Warnings that point at the user's line, however deep inside the library they arise."""

import sys
import warnings
from types import FrameType

# A call of Pipeline.fit is the user's, not the calls within.
_LIBRARY_PACKAGES = {"ambilearn", "sklearn", "joblib"}


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the line that called into this library (or scikit-learn) as the place.

    Parameters
    ----------
    message : str
        What is the matter, and what to try.
    category : type of warning, default=UserWarning
        As in :func:`warnings.warn`.
    """
    frame, stacklevel = sys._getframe(1), 2
    outer, passed = frame, 0
    while outer.f_back and _package(outer) == _package(frame):
        outer, passed = outer.f_back, passed + 1
    if (
        _package(outer) in _LIBRARY_PACKAGES
    ):  # the library runs a method of somebody's own, which warns
        frame, stacklevel = outer, stacklevel + passed
    while frame.f_back and _package(frame) in _LIBRARY_PACKAGES:
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)


def _package(frame: FrameType) -> str:
    module: str = frame.f_globals.get("__name__", "")
    return module.partition(".")[0]
