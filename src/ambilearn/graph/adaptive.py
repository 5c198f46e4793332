r"""The adaptive neighbour graph of PL-CL and PL-AGGD, shared by features and confidences.

Row *i* of *W* holds the weights with which its neighbours rebuild row *i*, in feature space and in
label space at once:

.. math:: \min_W\ \gamma \|X - WX\|_F^2 + \mu \|P - WP\|_F^2
          \quad\text{s.t.}\quad W\mathbf 1 = \mathbf 1,\ W \ge 0,\ W_{ia} = 0
          \text{ unless } a \in \mathcal N_i

and *W* in turn smooths the confidences *P*.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.warnings import value_of
from ambilearn.candidates import CandidateSets
from ambilearn.graph.geometry import LocalGeometry, weights_to_csr
from ambilearn.graph.neighbors import usable_neighbors
from ambilearn.solvers import (
    CandidateSimplex,
    Status,
    SupportGraph,
    solve_confidences,
    solve_neighbor_weights,
)


class AdaptiveGraph:
    """A neighbour graph whose weights follow the features and the current confidences.

    What does not change during a fit (neighbours, feature Gram matrices, sparsity pattern) is
    computed once, here; every problem starts from the last one's solution.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features, or a kernel matrix with ``precomputed``.
    candidates : CandidateSets
        Candidate sets of the rows.
    n_neighbors : int
        Neighbours per row; n − 1 where there are not that many other rows.
    precomputed : bool, default=False
        Whether X is a kernel matrix.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How neighbours are searched; see :class:`~ambilearn.graph.neighbors.NeighborSearch`.

    Attributes
    ----------
    weights : ndarray of shape (n, k) or None
        Weights of the neighbours, after the first :meth:`update`.
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
        n_neighbors = usable_neighbors(n_neighbors, candidates.n_rows)
        self._geometry = LocalGeometry(X, n_neighbors, precomputed=precomputed, neighbors=neighbors)
        self._support = SupportGraph(
            candidates.indptr, candidates.labels, self._geometry.neighbor_indices
        )
        self._simplex = CandidateSimplex(candidates.indptr)
        self.weights: NDArray[np.float64] | None = None

    def update(
        self, feature_weight: float, label_weight: float = 0.0, p: NDArray[np.float64] | None = None
    ) -> None:
        """Find the weights that best rebuild the features and the confidences, a support vector."""
        solutions = []
        for block in self._support.blocks:
            gram = feature_weight * self._geometry.gram[block.rows]
            if p is not None:
                gram += label_weight * self._support.difference_grams(p, block)
            start = None if self.weights is None else self.weights[block.rows]
            solutions.append(solve_neighbor_weights(gram, start))
        weights = np.concatenate([solution.value for solution in solutions])
        worst = max(solutions, key=lambda each: (each.status is not Status.OPTIMAL, each.residual))
        self.weights = value_of(worst._replace(value=weights), "neighbour weights")
        self._roughness = self._support.roughness(self.weights)

    def smooth(
        self, start: NDArray[np.float64], target: NDArray[np.float64] | None, weight: float
    ) -> NDArray[np.float64]:
        r"""Confidences near ``target`` that agree with the neighbours'; all are support vectors.

        Minimises :math:`\|P - O\|^2 + c\,\|(I - W)P\|^2` on the candidate simplices; without a
        target only the second term.
        """
        solution = solve_confidences(self._simplex, self._roughness, target, weight, start)
        return value_of(solution, "label confidences")

    def feature_roughness(self) -> float:
        r"""The value of :math:`\|X - WX\|_F^2`."""
        return float(
            np.einsum("ia,iab,ib->", self.weights, self._geometry.gram, self.weights, optimize=True)
        )

    def label_roughness(self, p: NDArray[np.float64]) -> float:
        r"""The value of :math:`\|P - WP\|_F^2` for a support vector."""
        return float(np.sum(p * (self._roughness @ p)))

    def to_csr(self) -> sparse.csr_array:
        """The graph *W* of shape (n, n)."""
        return weights_to_csr(self._geometry.neighbor_indices, self.weights)
