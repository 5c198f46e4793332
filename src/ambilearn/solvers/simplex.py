r"""Euclidean projection onto candidate simplices.

The confidences of row *i* live on :math:`\{p : \sum_{j \in S_i} p_j = 1,\ p \ge 0\}`. Projecting
:math:`v` subtracts one threshold and clips, :math:`p_j = \max(v_j - \tau, 0)`, with

.. math:: \tau = \max_k \frac{1}{k}\Big(\sum_{m \le k} v_{(m)} - 1\Big),
          \qquad v_{(1)} \ge v_{(2)} \ge \dots

[1]_. No sorting is needed where the positive entries are nearly known: any set *A* of entries gives
a threshold :math:`(\sum_{j \in A} v_j - 1) / |A| \le \tau`, and taking the entries above it as the
next set ends at :math:`\tau` [2]_.

References
----------
.. [1] Held, Wolfe, Crowder. Validation of subgradient optimization. Mathematical Programming 6,
   62-88, 1974.
.. [2] Michelot. A finite algorithm for finding the projection of a point onto the canonical
   simplex of R^n. J. Optimization Theory and Applications 50, 195-200, 1986.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from scipy import sparse

from ambilearn.solvers.gathered_products import GatheredMatrix, SparsePattern
from ambilearn.solvers.result import Solution, Status


def project_rows(values: Any, mask: Any | None = None) -> Solution[Any]:
    """Project each row of a matrix onto the simplex over its unmasked entries.

    Parameters
    ----------
    values : array of shape (n, m)
        Rows to project.
    mask : boolean array of shape (n, m), optional
        True where an entry exists. Entries outside come back as 0. Every row needs at least one.

    Returns
    -------
    Solution
        ``value`` has the shape of ``values``.

    Examples
    --------
    >>> import numpy as np
    >>> project_rows(np.array([[0.8, 0.6, -1.0]])).value.round(3)
    array([[0.6, 0.4, 0. ]])
    """
    xp = array_namespace(values)
    if mask is not None:
        values = xp.where(mask, values, -xp.inf)
    # The projection is the same, and beside large values 1 would be lost in rounding.
    values = values - xp.max(values, axis=1, keepdims=True)
    descending = xp.sort(values, axis=1, descending=True)
    counts = xp.arange(1, values.shape[1] + 1, dtype=values.dtype, device=device(values))
    thresholds = (xp.cumulative_sum(descending, axis=1) - 1.0) / counts
    tau = xp.max(thresholds, axis=1, keepdims=True)
    projected = xp.maximum(values - tau, xp.zeros_like(tau))
    return Solution(projected, Status.OPTIMAL, 1, 0.0)


class CandidateSimplex:
    """Projection of a support vector: one entry per (row, candidate) pair, rows of unequal length.

    Parameters
    ----------
    indptr : array of shape (n_rows + 1,)
        Row *i* owns the entries ``indptr[i]:indptr[i + 1]``; every row owns at least one.
    """

    def __init__(self, indptr: Any) -> None:
        if not is_numpy_array(indptr):
            self._row, self._on_device = _row_sums_on_device(indptr)
            return
        n_rows, n_pairs = len(indptr) - 1, int(indptr[-1])
        dtype = sparse.get_index_dtype(maxval=n_pairs)
        parts = (np.ones(n_pairs), np.arange(n_pairs, dtype=dtype), indptr.astype(dtype))
        self._members = sparse.csr_array(parts, shape=(n_rows, n_pairs))
        self._row = np.repeat(np.arange(n_rows), np.diff(indptr))

    def project(self, values: Any, near: Any | None = None) -> Any:
        """Project the support vector ``values`` row by row; an array of the same shape.

        Where ``near`` is given, on the simplices, its positive entries are tried first: the closer
        they are to those of the answer, the sooner it is found.
        """
        xp = array_namespace(values)
        row = self._row
        positive = xp.ones_like(values) > 0 if near is None else near > 0
        shrinking = False
        while True:
            inside = xp.astype(positive, values.dtype)
            sums, counts = self._sums(xp, inside * values, inside)
            excess = values - xp.take((sums - 1.0) / counts, row)
            found = excess >= 0  # zeros too: 1 may be lost in rounding, but a row keeps an entry
            if shrinking:  # as it does after the first round, but for rounding
                found = found & positive
            if xp.all(found == positive):
                return xp.maximum(excess, xp.zeros_like(excess))
            positive, shrinking = found, True

    def _sums(self, xp: Any, *values: Any) -> Any:
        """Sums of each row's entries, for several support vectors."""
        if is_numpy_array(values[0]):
            return tuple(self._members @ each for each in values)
        both = self._on_device @ xp.stack(values, axis=1)
        return tuple(both[:, i] for i in range(len(values)))


def _row_sums_on_device(indptr: Any) -> tuple[Any, GatheredMatrix]:
    """Row of each pair, and the matrix that adds up the pairs of a row."""
    xp, where = array_namespace(indptr), device(indptr)
    n_rows = indptr.shape[0] - 1
    row = xp.repeat(xp.arange(n_rows, device=where), indptr[1:] - indptr[:-1])
    pattern = SparsePattern(row, xp.arange(row.shape[0], device=where), n_rows)
    return row, pattern.matrix(xp.ones(row.shape, dtype=xp.float64, device=where))
