r"""Euclidean projection onto candidate simplices.

The confidences of row *i* are in :math:`\{p : \sum_{j \in S_i} p_j = 1,\ p \ge 0\}`. The projection
of :math:`v` subtracts a threshold and clips, :math:`p_j = \max(v_j - \tau, 0)`, with

.. math:: \tau = \max_k \frac{1}{k}\Big(\sum_{m \le k} v_{(m)} - 1\Big),
          \qquad v_{(1)} \ge v_{(2)} \ge \dots

[1]_. Sorting is not needed if the positive entries are nearly known: any set *A* of entries gives a
threshold :math:`(\sum_{j \in A} v_j - 1) / |A| \le \tau`. Replacing *A* by the entries above this
threshold, repeatedly, converges to :math:`\tau` [2]_.

References
----------
.. [1] Held, Wolfe, Crowder. Validation of subgradient optimization. Mathematical Programming 6,
   62-88, 1974.
.. [2] Michelot. A finite algorithm for finding the projection of a point onto the canonical
   simplex of R^n. J. Optimization Theory and Applications 50, 195-200, 1986.
"""

import numpy as np
from array_api_compat import array_namespace, device

from ambilearn._utils.types import Array

_LARGE = 1e6  # rows with a larger maximum are shifted before the projection


class CandidateSimplex:
    """Projection of a support vector: one entry per (row, candidate) pair, rows of unequal length.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Row *i* has the entries ``indptr[i]:indptr[i + 1]``; every row has at least one.
    """

    def __init__(self, indptr: Array) -> None:
        xp = array_namespace(indptr)
        self._indptr = indptr
        numbers = xp.arange(indptr.shape[0] - 1, device=device(indptr))
        self._row = xp.repeat(numbers, indptr[1:] - indptr[:-1])

    def project(self, values: Array, near: Array | None = None) -> Array:
        """Project the support vector ``values`` row by row; an array of the same shape.

        ``near``, a feasible point, speeds up the projection: its positive entries are the first
        guess for the positive entries of the projection.
        """
        xp = array_namespace(values)
        if xp.any(xp.abs(values) > _LARGE):
            values = values - self._shift(values)
        positive = xp.ones_like(values) > 0 if near is None else near > 0
        return self._project(values, positive)

    def _project(self, values: Array, positive: Array) -> Array:
        return np.maximum(_excess(values, self._indptr, self._row, positive), 0.0)

    def _shift(self, values: Array) -> Array:
        """Largest value of the row of each entry; 0 in rows that need no shift.

        The shift does not change the projection. Without it, subtracting 1 from a large sum loses
        digits.
        """
        xp = array_namespace(values)
        by_value = xp.argsort(values)
        by_row = xp.take(by_value, xp.argsort(xp.take(self._row, by_value), stable=True))
        largest = xp.take(values, xp.take(by_row, self._indptr[1:] - 1))
        return xp.take(xp.where(xp.abs(largest) > _LARGE, largest, 0.0), self._row)


def _excess(
    values: Array, indptr: Array, row: Array, positive: Array, shrinking: bool = False
) -> Array:
    """The values minus the threshold of their row.

    A pass is repeated only for the rows that it changes, which are few near a solution.
    """
    inside = positive.astype(np.float64)
    n_rows = len(indptr) - 1
    sums, counts = np.bincount(row, inside * values, n_rows), np.bincount(row, inside, n_rows)
    excess = values - ((sums - 1.0) / counts)[row]
    found = excess >= 0
    if shrinking:  # after the first pass the set only shrinks, except for rounding
        found &= positive
    changed = np.flatnonzero(found != positive)
    if changed.size:
        rows = row[changed]
        rows = rows[np.diff(rows, prepend=-1) > 0]
        sizes = indptr[rows + 1] - indptr[rows]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        pairs = np.arange(ends[-1]) + np.repeat(indptr[rows] - ends[:-1], sizes)
        of_rows = np.repeat(np.arange(len(rows)), sizes)
        excess[pairs] = _excess(values[pairs], ends, of_rows, found[pairs], True)
    return excess
