r"""Euclidean projection onto candidate simplices.

The confidences of row *i* live on :math:`\{p : \sum_{j \in S_i} p_j = 1,\ p \ge 0\}`. Projecting
:math:`v` subtracts one threshold and clips, :math:`p_j = \max(v_j - \tau, 0)`, with

.. math:: \tau = \max_k \frac{1}{k}\Big(\sum_{m \le k} v_{(m)} - 1\Big),
          \qquad v_{(1)} \ge v_{(2)} \ge \dots

References
----------
.. [1] Held, Wolfe, Crowder. Validation of subgradient optimization. Mathematical Programming 6,
   62-88, 1974.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn.solvers.result import Solution, Status


def project_rows(values: Any, mask: Any | None = None) -> Solution:
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
    descending = xp.sort(values, axis=1, descending=True)
    counts = xp.arange(1, values.shape[1] + 1, dtype=values.dtype)
    thresholds = (xp.cumulative_sum(descending, axis=1) - 1.0) / counts
    tau = xp.max(thresholds, axis=1, keepdims=True)
    projected = xp.maximum(values - tau, xp.zeros_like(tau))
    return Solution(projected, Status.OPTIMAL, 1, 0.0)


class CandidateSimplex:
    """Projection of a support vector: one entry per (row, candidate) pair, rows of unequal length.

    Rows are packed into one padded block or, where a few long rows would widen all others, into
    one block per power of two of their length. Only gathers are used, which any array namespace
    has.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Row *i* owns the entries ``indptr[i]:indptr[i + 1]``; every row owns at least one.
    """

    def __init__(self, indptr: NDArray[np.intp]) -> None:
        sizes = np.diff(indptr)
        widths = np.full_like(sizes, sizes.max())
        if widths.sum() > 4 * sizes.sum():
            widths = 2 ** np.ceil(np.log2(sizes)).astype(np.intp)
        self._blocks = []
        entries = []
        for width in np.unique(widths):
            members = np.flatnonzero(widths == width)
            columns = np.arange(width)
            index = np.where(columns < sizes[members, None], indptr[members, None] + columns, -1)
            self._blocks.append((len(members), width))
            entries.append(index.ravel())
        entries = np.concatenate(entries)
        # Where each entry of the blocks is taken from; padding from one entry after the last.
        self._source = np.where(entries < 0, indptr[-1], entries)
        # Where each entry of the support is found in the blocks.
        self._position = np.argsort(entries, kind="stable")[len(entries) - indptr[-1] :]

    def project(self, values: Any) -> Any:
        """Project the support vector ``values`` row by row; an array of the same shape."""
        xp = array_namespace(values)
        padded = xp.concat([values, xp.full((1,), -xp.inf, dtype=values.dtype)])
        packed = xp.take(padded, xp.asarray(self._source))
        parts, start = [], 0
        for n_rows, width in self._blocks:
            block = xp.reshape(packed[start : start + n_rows * width], (n_rows, width))
            parts.append(xp.reshape(project_rows(block).value, (-1,)))
            start += n_rows * width
        return xp.take(xp.concat(parts), xp.asarray(self._position))
