r"""The fixed neighbor graph of LALO and PLDA, and label smoothing with its Laplacian.

Every row is connected to its *k* nearest neighbors with Gaussian weights; the graph is made
symmetric and normalized:

.. math:: s_{ia} = \exp(-d_{ia}^2 / \sigma^2)\ \text{ for } a \in \mathcal N_i,
          \qquad S \leftarrow S + S^\top, \qquad \tilde S = D^{-1/2} S D^{-1/2},

with the degrees :math:`D = \operatorname{diag}(S \mathbf 1)` and :math:`\sigma` the mean distance
to the *k*-th neighbor. Confidences are smooth when :math:`\mathrm{tr}(P^\top (I - \tilde S) P)` is
small.
"""

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.types import Array
from ambilearn.backend import Support
from ambilearn.graph.neighbors import Neighbors, value_of
from ambilearn.solvers import solve_confidences


class SimilarityGraph:
    """A symmetric Gaussian neighbor graph, restricted to the candidate pairs.

    Parameters
    ----------
    neighbors : Neighbors
        Neighbors of the rows, with their distances.
    candidates : Support
        Candidate pairs of the rows.

    Attributes
    ----------
    similarities : csr_array of shape (n, n), or DeviceGraph
        The normalized graph, with zero diagonal.
    sigma : float
        Width of the Gaussian.
    """

    def __init__(self, neighbors: Neighbors, candidates: Support) -> None:
        distances = neighbors.distances
        xp = array_namespace(distances)
        self.sigma = float(xp.mean(xp.max(distances, axis=1))) or 1.0
        weights = xp.exp(-((distances / self.sigma) ** 2))
        self.similarities = candidates.backend.symmetric_graph(neighbors.indices, weights)
        self._candidates = candidates
        self._laplacian = candidates.laplacian(self.similarities)

    def smooth(
        self,
        start: NDArray[np.float64],
        target: NDArray[np.float64] | None,
        weight: float,
        cost: NDArray[np.float64] | None = None,
        anchor: float | Array = 1.0,
    ) -> NDArray[np.float64]:
        r"""Confidences that are close to ``target``, smooth, and of low cost; support vectors.

        Minimizes :math:`\|P - O\|^2 + c\,\mathrm{tr}(P^\top (I - \tilde S) P) + \langle D, P
        \rangle` on the candidate simplices, without the terms of a missing target or cost.
        ``anchor`` is the weight of the first term, a number or one per pair.
        """
        if cost is not None:
            # A constant shift of the costs in a row has no effect, but large costs (of a row far
            # from all others) would cause rounding errors in the confidences.
            cost = cost + self._candidates.largest(-cost)[self._candidates.rows]
        solution = solve_confidences(
            self._candidates.simplex,
            self._laplacian,
            target,
            weight,
            start,
            cost=cost,
            anchor=anchor,
        )
        return value_of(solution, "label confidences")

    def roughness(self, p: NDArray[np.float64]) -> float:
        r"""The value of :math:`\mathrm{tr}(P^\top (I - \tilde S) P)` for a support vector."""
        return float(p @ (self._laplacian @ p))
