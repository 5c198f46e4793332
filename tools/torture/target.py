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
        Name in counts and in the files of failing cases.
    counted_as : {"inputs", "kills", "commands", "full disks", "closed streams", "damaged bytes"}
        What one case is.
    cases : SearchStrategy or callable
        Draws cases; or a function (random generator, number of the case) → case, if cases cannot
        be minimized. A case is a Python literal, so that it can be saved as text and replayed:
        numbers without a literal (nan, inf) are text.
    check : callable
        Function (case, empty folder) → whether the case was accepted; False if it was rejected.
        Raises :class:`~torture.oracle.Defect` for anything else.
    share : float
        Its share of the time, relative to others.
    most : int, optional
        Maximum number of cases.
    outcomes : pair of str
        Descriptions of the results True and False of a check.
    """

    name: str
    counted_as: str
    cases: SearchStrategy[Any] | Callable[[Random, int], Any]
    check: Callable[[Any, Path], bool]
    share: float = 1
    most: int | None = None
    outcomes: tuple[str, str] = ("accepted", "rejected")

    @property
    def batch_size(self) -> int:
        """Number of cases per batch; a worker checks the time after each batch."""
        return 10 if callable(self.cases) else 100
