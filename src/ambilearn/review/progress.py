"""What a review has achieved: share of right labels by random rows, and changes from fit to fit."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Label
from ambilearn.confidence import ShareEstimate, estimate_share_right

_MIN_ROWS = 10  # random rows before a share is estimated
_FEW = 20  # answers that show whether further answers change much
_LITTLE = 0.1  # labels changed per answer


class RandomRows:
    """Mixes random rows into the review, and estimates the share of right labels from them.

    Rows that are reviewed first are the hardest, so they are not representative of the rest. Every
    few rows a random one comes up. Its answer is held back from the method, which therefore labels
    the row like all rows that were not looked at, until the order of the review reaches the row:
    then its answer is released, and the row counts as reviewed. The rows that are held back are a
    random sample of the rows that were not reviewed.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    share : float
        Share of random rows among the answers, 0 for none.
    random_state : int
        Seed.
    """

    def __init__(self, n_rows: int, share: float, random_state: int) -> None:
        self._drawn = np.random.default_rng(random_state).permutation(n_rows)
        self._every = round(1 / share) if share else 0
        self.held_back: set[int] = set()
        self.n_answered = 0  # answers so far, to keep the share

    def mix(
        self, order: NDArray[np.intp], done: Collection[int], n: int
    ) -> tuple[list[int], list[int]]:
        """The first n rows to look at, with random rows in between, and the random rows among them.

        ``order`` is the order of the review, and ``done`` has the rows that are settled or skipped.
        """
        closed = set(done)
        wanted = (row for row in map(int, order) if row not in closed)
        spare = (row for row in map(int, self._drawn) if row not in closed)
        rows: list[int] = []
        drawn: list[int] = []
        for place in range(self.n_answered + 1, self.n_answered + 1 + n):
            is_random = bool(self._every) and place % self._every == 0
            row = next(spare if is_random else wanted, None)
            if row is None:
                break
            closed.add(row)
            rows.append(row)
            if is_random:
                drawn.append(row)
        return rows, drawn

    def release(self, order: Iterable[Any], closed: Collection[int]) -> list[int]:
        """Release the rows that the order of the review has reached; return them."""
        if not self.held_back:
            return []
        reached = []
        for row in map(int, order):
            if row in self.held_back:
                reached.append(row)
            elif row not in closed:
                break
        self.held_back.difference_update(reached)
        return reached

    def estimate(
        self, labels: Mapping[int, Label], found: Array, n_rows: int
    ) -> ShareEstimate | None:
        """Share of right labels if every settled row is right; None with less than ten rows.

        ``found`` has the labels of the method, which has not seen the answers that are held back.
        """
        rows = sorted(self.held_back)
        n_reviewed = len(labels) - len(rows)
        if n_reviewed == n_rows:
            return ShareEstimate(1.0, 1.0, 1.0, 0.95, len(rows), n_rows)
        if len(rows) < _MIN_ROWS:
            return None
        right = [bool(found[row] == labels[row]) for row in rows]
        rest = estimate_share_right(right, n_rows - n_reviewed)
        n_corrected = len(rows) - sum(right)

        def of_all(share: float) -> float:
            at_least = n_reviewed + len(rows)
            return min(1.0, max(at_least, n_reviewed + n_corrected + share * rest.n_rows) / n_rows)

        share, low, high = map(of_all, (rest.share, rest.low, rest.high))
        return ShareEstimate(share, low, high, rest.level, len(rows), n_rows)


class FitHistory:
    """Labels of all rows after the last fits; ``first`` has those by the method at the start."""

    def __init__(self, first: Array) -> None:
        self._first = first
        self._fits: list[tuple[int, Array]] = []  # answers so far, and labels

    def add(self, n_answers: int, labels: Array) -> None:
        """Record the labels after a fit to the first ``n_answers`` answers."""
        if self._fits and self._fits[-1][0] == n_answers:  # another result of the same fit
            self._fits.pop()
        self._fits = [*self._fits[-_FEW:], (n_answers, labels)]

    def count_changed(self, labels: Array, settled: Iterable[int]) -> int:
        """Number of rows, other than the settled ones, with another label than at the start."""
        return _count_different(labels, self._first, settled)

    def describe_little_change(self, answers: Sequence[Mapping[int, Label]]) -> str | None:
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


def _count_different(labels: Array, others: Array, left_out: Iterable[int]) -> int:
    if labels.dtype.kind != others.dtype.kind:  # one of them has labels of several types
        labels, others = labels.astype(object), others.astype(object)
    differs = np.array(labels != others, dtype=bool)
    differs[list(left_out)] = False
    return int(differs.sum())
