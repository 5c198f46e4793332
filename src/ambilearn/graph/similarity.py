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
from numpy.typing import NDArray
from scipy import sparse

from ambilearn.candidates import CandidateSets
from ambilearn.graph.convergence import warn_inexact
from ambilearn.graph.geometry import squared_kernel_distances, weights_to_csr
from ambilearn.graph.neighbors import (
    NeighborSearch,
    nearest_in_matrix,
    neighbor_distances,
    refuse_search_in_kernel,
    usable_neighbors,
)
from ambilearn.solvers import CandidateSimplex, Solution, solve_confidences
from ambilearn.solvers.support_graph import restrict_to_support


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
    similarities : csr_array of shape (n, n)
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
        self.sigma = float(distances.max(axis=1).mean()) or 1.0
        weights = weights_to_csr(neighbor_indices, np.exp(-((distances / self.sigma) ** 2)))
        self.similarities = _normalize(weights + weights.T)
        shared = restrict_to_support(self.similarities, candidates.indptr, candidates.labels)
        self._laplacian = (sparse.eye_array(shared.shape[0]) - shared).tocsr()
        self._simplex = CandidateSimplex(candidates.indptr)

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
        solution: Solution[NDArray[np.float64]] = solve_confidences(
            self._simplex, self._laplacian, target, weight, start, cost=cost, anchor=anchor
        )
        if not solution.is_optimal:
            warn_inexact(solution, "label confidences")
        return solution.value

    def roughness(self, p: NDArray[np.float64]) -> float:
        r"""The value of :math:`\mathrm{tr}(P^\top (I - \tilde S) P)` for a support vector."""
        return float(p @ (self._laplacian @ p))


def _normalize(weights: sparse.csr_array) -> sparse.csr_array:
    """Symmetric normalisation by the degrees; a row without neighbours stays alone."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    inverse = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    scale = sparse.diags_array(inverse)
    return (scale @ weights @ scale).tocsr()
