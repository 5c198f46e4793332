r"""Label confidences that agree with neighbours: a quadratic program on the candidate support.

.. math:: \min_P\ \|P - O\|_F^2 + c\,\|(I - W) P\|_F^2 \quad\text{s.t.}\quad
          P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

(Eq. (P rewritten problem) of [1]_, with :math:`W = G^\top`). Only candidate entries are variables:
nnz(Y), not n·l. Restricted to them, :math:`(I - W) P` is one sparse matrix *Z* times the support
vector, whose pattern stays the same while the weights change. Accelerated projected gradient [2]_
with restart [3]_ solves the problem; since the objective is quadratic the curvature along every
step comes for free, so the step length needs no bound on the norm of *Z*.

LALO and PLDA smooth with a graph Laplacian *L* instead, :math:`c\,\mathrm{tr}(P^\top L P)`: the
same problem with a symmetric matrix on the support in the place of :math:`Z^\top Z`.

References
----------
.. [1] Jia, Si, Zhang. Complementary classifier induced partial label learning. KDD 2023.
.. [2] Beck, Teboulle. A fast iterative shrinkage-thresholding algorithm for linear inverse
   problems. SIAM J. Imaging Sciences 2(1), 183-202, 2009.
.. [3] O'Donoghue, Candès. Adaptive restart for accelerated gradient schemes. Foundations of
   Computational Mathematics 15, 715-732, 2015.
"""

from math import isfinite
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import sparse

from ambilearn.solvers.result import Solution, Status
from ambilearn.solvers.simplex import CandidateSimplex


class SupportGraph:
    """The map from a support vector to :math:`(I - W) P`, with a pattern that is built once.

    Row (i, j) of *Z* holds 1 at the pair (i, j), if *j* is a candidate of *i*, and minus the weight
    of neighbour *a* at every pair (a, j). Rows of *Z* that would be zero do not exist.

    Parameters
    ----------
    indptr, labels : ndarrays
        The candidate pairs, as in :class:`~ambilearn.candidates.CandidateSets`.
    neighbours : ndarray of shape (n, k)
        Indices of the neighbours that rebuild each row.
    """

    def __init__(
        self,
        indptr: NDArray[np.intp],
        labels: NDArray[np.intp],
        neighbours: NDArray[np.intp],
    ) -> None:
        n, k = neighbours.shape
        n_labels = int(labels.max()) + 1
        edge, pair = _pairs_of_edges(indptr, neighbours.ravel())
        own = np.arange(len(labels))
        row = np.concatenate([np.repeat(np.arange(n), np.diff(indptr)), edge // k])
        column = np.concatenate([own, pair])
        _, residual = np.unique(row * n_labels + labels[column], return_inverse=True)
        order = np.lexsort((column, residual))
        self._indices = column[order].astype(np.int32)
        self._indptr = np.searchsorted(residual[order], np.arange(residual.max() + 2))
        self._n_pairs = len(labels)
        # Entry e of Z is −weights.ravel()[source[e]], or 1 where the source is the row itself.
        self._source = np.concatenate([np.full(len(own), n * k), edge])[order]

    def operator(self, weights: NDArray[np.float64]) -> sparse.csr_array:
        """The sparse matrix *Z* for neighbour weights of shape (n, k)."""
        data = np.append(-weights.ravel(), 1.0)[self._source]
        shape = (len(self._indptr) - 1, self._n_pairs)
        return sparse.csr_array((data, self._indices, self._indptr), shape=shape)


def restrict_to_support(
    graph: sparse.csr_array, indptr: NDArray[np.intp], labels: NDArray[np.intp]
) -> sparse.csr_array:
    """A graph on the rows as a matrix on the support: label *j* passes along the edges.

    Entry ((i, j), (a, j)) is ``graph[i, a]``, wherever *j* is a candidate of both *i* and *a*; with
    a support vector *p* that fills *P*, the product with *p* is ``graph @ P`` on the support.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Weights of the edges.
    indptr, labels : ndarrays
        The candidate pairs, as in :class:`~ambilearn.candidates.CandidateSets`.

    Returns
    -------
    csr_array of shape (n_pairs, n_pairs)
    """
    n, n_labels, n_pairs = len(indptr) - 1, int(labels.max()) + 1, len(labels)
    edge, pair = _pairs_of_edges(indptr, graph.indices)
    source = np.repeat(np.arange(n), np.diff(graph.indptr))[edge]
    keys = np.repeat(np.arange(n), np.diff(indptr)) * n_labels + labels  # ascending
    wanted = source * n_labels + labels[pair]
    own = np.minimum(np.searchsorted(keys, wanted), n_pairs - 1)
    shared = keys[own] == wanted
    entries = (graph.data[edge[shared]], (own[shared], pair[shared]))
    return sparse.coo_array(entries, shape=(n_pairs, n_pairs)).tocsr()


def _pairs_of_edges(
    indptr: NDArray[np.intp], targets: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One entry per edge and candidate of the edge's target row: the edge, and the pair."""
    per_edge = np.diff(indptr)[targets]
    edge = np.repeat(np.arange(len(targets)), per_edge)
    first = np.repeat(np.cumsum(per_edge) - per_edge, per_edge)
    return edge, indptr[targets[edge]] + np.arange(len(edge)) - first


def solve_confidences(
    simplex: CandidateSimplex,
    operator: Any,
    target: Any | None,
    weight: float,
    start: Any,
    *,
    cost: Any | None = None,
    symmetric: bool = False,
    tol: float = 1e-9,
    max_steps: int = 5000,
) -> Solution:
    r"""Minimise :math:`\|p - o\|^2 + c\,r(p) + d^\top p` over the candidate simplices.

    The roughness :math:`r(p)` is :math:`\|Zp\|^2`, or :math:`p^\top L p` for a symmetric positive
    semi-definite *L*.

    Parameters
    ----------
    simplex : CandidateSimplex
        The feasible set.
    operator : sparse matrix or array
        *Z*, or *L* if ``symmetric``; anything with ``@`` and ``.T``.
    target : array of shape (n_pairs,) or None
        *o*. None drops the first term, which leaves the problem that starts PL-CL; its minimiser
        need not be unique.
    weight : float
        *c* > 0.
    start : array of shape (n_pairs,)
        Feasible start.
    cost : array of shape (n_pairs,), optional
        *d*; nothing by default.
    symmetric : bool, default=False
        Whether ``operator`` is *L*.
    tol : float, default=1e-9
        On the largest entry of the projected gradient.
    max_steps : int, default=5000
        Step limit.

    Returns
    -------
    Solution
        ``value`` is the support vector *p*.
    """
    xp = array_namespace(start)
    anchor = 0.0 if target is None else 1.0
    linear = 0.0 if target is None else target
    if cost is not None:
        linear = linear - cost / 2
    transposed = None if symmetric else operator.T
    if sparse.issparse(transposed):
        transposed = transposed.tocsr()

    p = y = start
    Zp = Zy = operator @ start
    curvature = anchor + weight  # a lower guess, raised by what the steps meet
    momentum = 1.0
    residual = float("inf")
    steps = 0
    while steps < max_steps:
        steps += 1
        slope = Zy if symmetric else transposed @ Zy
        gradient = anchor * y - linear + weight * slope
        while True:
            moved = simplex.project(y - gradient / curvature)
            Zmoved = operator @ moved
            step, Zstep = moved - y, Zmoved - Zy
            length = float(xp.sum(step * step))
            roughness = float(xp.sum((step if symmetric else Zstep) * Zstep))
            met = anchor * length + weight * roughness
            if met <= curvature * length * (1 + 1e-10):
                break
            if not isfinite(met):
                raise FloatingPointError(
                    "The confidences left the range of floating point: scale the features, or "
                    "lower the weights of the method."
                )
            curvature = 1.05 * met / length
        residual = curvature * float(xp.max(xp.abs(step)))
        if residual <= tol:
            return Solution(moved, Status.OPTIMAL, steps, residual)
        if float(xp.sum(step * (moved - p))) < 0:  # momentum points uphill: start afresh
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        push = (momentum - 1) / following
        y, Zy = moved + push * (moved - p), Zmoved + push * (Zmoved - Zp)
        p, Zp, momentum = moved, Zmoved, following
    return Solution(p, Status.STEP_LIMIT, steps, residual)
