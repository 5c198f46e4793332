r"""The fixed neighbour graph of LALO and PLDA, and label smoothing with its Laplacian.

Every row is joined to its *k* nearest neighbours with Gaussian weights; the graph is made symmetric
and normalised:

.. math:: s_{ia} = \exp(-d_{ia}^2 / \sigma^2)\ \text{ for } a \in \mathcal N_i,
          \qquad S \leftarrow S + S^\top, \qquad \tilde S = D^{-1/2} S D^{-1/2},

with the degrees :math:`D = \operatorname{diag}(S \mathbf 1)` and :math:`\sigma` the mean distance
to the *k*-th neighbour. Confidences are smooth when :math:`\mathrm{tr}(P^\top (I - \tilde S) P)` is
small.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray
from scipy import sparse

from ambilearn.candidates import CandidateSets
from ambilearn.graph.convergence import warn_inexact
from ambilearn.graph.edges_on_device import DeviceGraph
from ambilearn.graph.geometry import squared_kernel_distances, weights_to_csr, weights_to_graph
from ambilearn.graph.neighbors import (
    NeighborSearch,
    nearest_in_matrix,
    neighbor_distances,
    refuse_search_in_kernel,
    usable_neighbors,
)
from ambilearn.solvers import CandidateSimplex, Solution, solve_confidences
from ambilearn.solvers.gathered_products import GatheredMatrix, SparsePattern
from ambilearn.solvers.support_graph import restrict_to_support
from ambilearn.solvers.support_graph_on_device import restricted_pattern


class SimilarityGraph:
    """A symmetric Gaussian neighbour graph, restricted to what the candidate sets share.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features, or a kernel matrix with ``precomputed``.
    candidates : CandidateSets
        Candidate sets of the rows.
    n_neighbors : int
        Neighbours per row; n − 1, with a warning, where there are not that many other rows.
    precomputed : bool, default=False
        Whether X is a kernel matrix. Distances are then those in its feature space; with a linear
        kernel that is the same graph.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How neighbours are searched; see :class:`~ambilearn.graph.neighbors.NeighborSearch`.

    Attributes
    ----------
    search : NeighborSearch
        Finds the neighbours of new rows; not fitted for a kernel matrix.
    similarities : csr_array of shape (n, n), or DeviceGraph
        The normalised graph, with zero diagonal.
    sigma : float
        Width of the Gaussian.
    """

    def __init__(
        self,
        X: Any,
        candidates: CandidateSets,
        n_neighbors: int,
        *,
        precomputed: bool = False,
        neighbors: Any = "auto",
    ) -> None:
        k = usable_neighbors(n_neighbors, candidates.n_rows)
        self.search = NeighborSearch(neighbors)
        if precomputed:
            refuse_search_in_kernel(neighbors)
            squared = squared_kernel_distances(X)
            neighbor_indices = nearest_in_matrix(squared, k)
            distances = np.sqrt(np.take_along_axis(squared, neighbor_indices, axis=1))
        else:
            neighbor_indices = self.search.fit(X, k)
            distances = neighbor_distances(X, X, neighbor_indices)
        self._candidates = candidates
        self._simplex = CandidateSimplex(candidates.indptr)
        self._laplacian: Any
        if not is_numpy_array(distances):
            self._join_on_device(candidates, neighbor_indices, distances)
            return
        self.sigma = float(distances.max(axis=1).mean()) or 1.0
        weights = weights_to_csr(neighbor_indices, np.exp(-((distances / self.sigma) ** 2)))
        self.similarities = _normalize(weights + weights.T)
        shared = restrict_to_support(self.similarities, candidates.indptr, candidates.labels)
        self._laplacian = (sparse.eye_array(shared.shape[0]) - shared).tocsr()

    def _join_on_device(self, candidates: Any, neighbor_indices: Any, distances: Any) -> None:
        """The same graph by its edges, each in both directions."""
        xp = array_namespace(distances)
        self.sigma = float(xp.mean(xp.max(distances, axis=1))) or 1.0
        one_way = weights_to_graph(neighbor_indices, xp.exp(-((distances / self.sigma) ** 2)))
        rows = xp.concat([one_way.rows, one_way.columns])
        columns = xp.concat([one_way.columns, one_way.rows])
        weights = xp.concat([one_way.weights, one_way.weights])
        ones = xp.ones((one_way.n_rows,), dtype=weights.dtype, device=device(weights))
        degrees = SparsePattern(rows, columns, one_way.n_rows).matrix(weights) @ ones
        inverse = 1 / xp.sqrt(xp.where(degrees > 0, degrees, 1.0))
        weights = xp.take(inverse, rows) * weights * xp.take(inverse, columns)
        self.similarities = DeviceGraph(rows, columns, weights, one_way.n_rows)
        pattern, edge = restricted_pattern(rows, columns, candidates.indptr, candidates.labels)
        self._laplacian = _DeviceLaplacian(pattern.matrix(xp.take(weights, edge)))

    def smooth(
        self,
        start: NDArray[np.float64],
        target: NDArray[np.float64] | None,
        weight: float,
        cost: NDArray[np.float64] | None = None,
        anchor: Any = 1.0,
    ) -> NDArray[np.float64]:
        r"""Confidences near ``target``, smooth, and at low cost; all are support vectors.

        Minimises :math:`\|P - O\|^2 + c\,\mathrm{tr}(P^\top (I - \tilde S) P) + \langle D, P
        \rangle` on the candidate simplices; without a target or a cost, without their terms. The
        first counts ``anchor`` times, a number or one a pair.
        """
        if cost is not None:
            # What all candidates of a row cost alike decides nothing, but the confidences would be
            # lost in rounding beside it, as for a row far from all others.
            cost = cost + self._candidates.largest(-cost)[self._candidates.rows]
        solution: Solution[NDArray[np.float64]] = solve_confidences(
            self._simplex, self._laplacian, target, weight, start, cost=cost, anchor=anchor
        )
        if not solution.is_optimal:
            warn_inexact(solution, "label confidences")
        return solution.value

    def roughness(self, p: NDArray[np.float64]) -> float:
        r"""The value of :math:`\mathrm{tr}(P^\top (I - \tilde S) P)` for a support vector."""
        return float(p @ (self._laplacian @ p))


class _DeviceLaplacian:
    """The matrix :math:`I - S` on a device; it knows ``@``."""

    def __init__(self, similarities: GatheredMatrix) -> None:
        self._similarities = similarities

    def __matmul__(self, p: Any) -> Any:
        return p - self._similarities @ p


def _normalize(weights: sparse.csr_array) -> sparse.csr_array:
    """Symmetric normalisation by the degrees; a row without neighbours stays alone."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    inverse = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    scale = sparse.diags_array(inverse)
    return (scale @ weights @ scale).tocsr()
