"""A target of the robustness tests: how to draw cases, and how to check them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Target:
    """A target of the robustness tests.

    Attributes
    ----------
    name : str
        Name in counts, and of the files in which failing cases are kept.
    counted_as : {"inputs", "kills", "commands", "full disks", "closed streams", "damaged bytes"}
        What one case is.
    cases : SearchStrategy or callable
        Draws cases; or function (random generator, number of the case) → case, where no case is
        smaller than another. A case is a Python literal, so that it can be kept as text and
        replayed: numbers that have no literal (nan, inf) are text.
    check : callable
        Function (case, empty folder) → whether the case was taken; False if it was refused.
        Raises :class:`~torture.oracle.Defect` for anything else.
    share : float
        Its share of the time, relative to others.
    most : int, optional
        Cases after which all have been seen.
    outcomes : pair of str
        What it means that a check returns True, and False.
    """

    name: str
    counted_as: str
    cases: SearchStrategy[Any] | Callable[[Random, int], Any]
    check: Callable[[Any, Path], bool]
    share: float = 1
    most: int | None = None
    outcomes: tuple[str, str] = ("taken", "refused")

    @property
    def batch_size(self) -> int:
        """Number of cases per batch; a worker checks the time after each batch."""
        return 10 if callable(self.cases) else 100
