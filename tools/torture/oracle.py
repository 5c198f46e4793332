"""Definition of correct behavior: a consistent result, or an error of this library."""

import linecache
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

import ambilearn

OURS = Path(ambilearn.__file__).parent
# Packages that validate arguments; their messages are written for users, too.
CHECKERS = ("/sklearn/utils/", "/sklearn/base.py")

KINDS = (
    "lost", "doubled", "destroyed", "traceback", "executed", "exposed", "crash", "hang", "wrong",
)  # fmt: skip

CANARY = Path(os.environ.get("TORTURE_CANARY", "canary")).absolute()
"""File that hostile inputs would create if they were executed."""


class Defect(Exception):  # noqa: N818, not an error of this program
    """Incorrect behavior; ``kind`` is one of :data:`KINDS`.

    ``signature`` is equal for cases that fail in the same way.
    """

    def __init__(self, kind: str, what: str, signature: str = "") -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind
        self.signature = f"{kind} {signature or what}"


class Rejected:
    """Result of a call that raised an error about its input."""


REJECTED = Rejected()


def attempt(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Result of a call, or ``REJECTED`` if it raises an error of this library."""
    try:
        return function(*args, **options)
    except Exception as error:
        if is_ours(error):
            return REJECTED
        raise Defect("traceback", describe(error), signature_of(error)) from error


def is_ours(error: BaseException) -> bool:
    """Whether an error was raised on purpose, by this library or a validating package.

    An error that merely passes through our code was raised by a line that does not say ``raise``.
    """
    if not isinstance(error, (ValueError, TypeError)) or not str(error).strip():
        return False
    path, line = _raised_at(error.__traceback__)
    inside = path.startswith(str(OURS)) or any(place in path for place in CHECKERS)
    return inside and line.lstrip().startswith("raise ")


def describe(error: BaseException) -> str:
    """The error, and the last function of this library in its traceback."""
    return f"{type(error).__name__}: {str(error)[:300]!r} at {_last_of_ours(error)}"


def signature_of(error: BaseException) -> str:
    """Signature that is equal for errors with the same cause."""
    return f"{type(error).__name__} at {_last_of_ours(error)}"


def _raised_at(trace: TracebackType | None) -> tuple[str, str]:
    *_, (frame, number) = traceback.walk_tb(trace)
    path = frame.f_code.co_filename
    return path.replace(os.sep, "/"), linecache.getline(path, number)


def _last_of_ours(error: BaseException) -> str:
    places = [
        f"{Path(frame.f_code.co_filename).relative_to(OURS)}:{frame.f_code.co_name}"
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(str(OURS))
    ]
    return places[-1] if places else "no line of ours"


def check_canary() -> None:
    """Raise if a hostile input was executed."""
    if CANARY.exists():
        CANARY.unlink()
        raise Defect("executed", "something of the input was executed")


def check_confidences(confidences: Any, shape: tuple[int, int]) -> None:
    """Check the shape of confidences, and that they are non-negative and sum to one."""
    dense = confidences.toarray() if hasattr(confidences, "toarray") else np.asarray(confidences)
    if dense.shape != shape:
        raise Defect("wrong", f"confidences of shape {dense.shape} instead of {shape}", "shape")
    if not np.isfinite(dense).all():
        raise Defect("wrong", "a confidence that is not finite")
    if (dense < 0).any() or not np.allclose(dense.sum(axis=1), 1, atol=1e-6):
        row = int(np.argmax(np.abs(dense.sum(axis=1) - 1)))
        raise Defect("wrong", f"invalid confidences {dense[row]}", "invalid confidences")
