"""Random rows among the reviewed ones, and the share of right labels that they show."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn.confidence import ShareRight, estimate_share_right

_MIN_ROWS = 10  # random rows before a share is estimated


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
        self, labels: Mapping[int, Any], found: NDArray[Any], n_rows: int
    ) -> ShareRight | None:
        """Share of right labels if every settled row is right; None with less than ten rows.

        ``found`` has the labels of the method, which has not seen the answers that are held back.
        """
        rows = sorted(self.held_back)
        n_reviewed = len(labels) - len(rows)
        if n_reviewed == n_rows:
            return ShareRight(1.0, 1.0, 1.0, 0.95, len(rows), n_rows)
        if len(rows) < _MIN_ROWS:
            return None
        right = [bool(found[row] == labels[row]) for row in rows]
        rest = estimate_share_right(right, n_rows - n_reviewed)
        n_corrected = len(rows) - sum(right)

        def of_all(share: float) -> float:
            at_least = n_reviewed + len(rows)
            return min(1.0, max(at_least, n_reviewed + n_corrected + share * rest.n_rows) / n_rows)

        share, low, high = map(of_all, (rest.share, rest.low, rest.high))
        return ShareRight(share, low, high, rest.level, len(rows), n_rows)
