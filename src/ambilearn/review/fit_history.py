"""How much the labels of a review change from fit to fit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.text import pluralize

_FEW = 20  # answers that show whether further answers change much
_LITTLE = 0.1  # labels changed per answer


class FitHistory:
    """Labels of all rows after the last fits; ``first`` has those by the method at the start."""

    def __init__(self, first: NDArray[Any]) -> None:
        self._first = first
        self._fits: list[tuple[int, NDArray[Any]]] = []  # answers so far, and labels

    def add(self, n_answers: int, labels: NDArray[Any]) -> None:
        """Record the labels after a fit to the first ``n_answers`` answers."""
        self._fits = [*self._fits[-_FEW:], (n_answers, labels)]

    def count_changed(self, labels: NDArray[Any], settled: Iterable[int]) -> int:
        """Number of rows, other than the settled ones, with another label than at the start."""
        return _count_different(labels, self._first, settled)

    def describe_little_change(self, answers: Sequence[Mapping[int, Any]]) -> str | None:
        """Message that the last answers changed few labels, or None.

        Each answer has the labels of one or several rows.
        """
        fits = self._fits
        n_now, now = fits[-1]
        earlier = [each for each in fits if each[0] <= n_now - _FEW]
        if not earlier or n_now > len(answers):  # some were taken back
            return None
        n_before, before = earlier[-1]
        last = {row: label for each in answers[n_before:n_now] for row, label in each.items()}
        corrected = sum(label != before[row] for row, label in last.items())
        others = _count_different(now, before, last)
        if not last or corrected + others > _LITTLE * len(last):
            return None
        return (
            f"The last {pluralize(len(last), 'answer')} corrected "
            f"{pluralize(corrected, 'label')} and changed {pluralize(others, 'other')}: further "
            "answers change little."
        )


def _count_different(labels: NDArray[Any], others: NDArray[Any], left_out: Iterable[int]) -> int:
    if labels.dtype.kind != others.dtype.kind:  # one of them has labels of several types
        labels, others = labels.astype(object), others.astype(object)
    differs = np.array(labels != others, dtype=bool)
    differs[list(left_out)] = False
    return int(differs.sum())
