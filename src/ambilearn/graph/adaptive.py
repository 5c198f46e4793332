r"""The adaptive neighbor graph of PL-CL and PL-AGGD, shared by features and confidences.

Row *i* of *W* has the weights that reconstruct row *i* from its neighbors, in feature space and in
label space:

.. math:: \min_W\ \gamma \|X - WX\|_F^2 + \mu \|P - WP\|_F^2
          \quad\text{s.t.}\quad W\mathbf 1 = \mathbf 1,\ W \ge 0,\ W_{ia} = 0
          \text{ unless } a \in \mathcal N_i

and *W* smooths the confidences *P*. The neighbors do not change during a fit
(:class:`Neighborhoods`); each new *W* is a new :class:`AdaptiveGraph`. Its weights require one
small Gram matrix per row,

.. math:: (B_i)_{ab} = (z_i - z_a)^\top (z_i - z_b), \qquad a, b \in \mathcal N_i .
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import HOST, Backend, Support
from ambilearn.backend.host.products import ROUNDING, grams_from_products
from ambilearn.graph.neighbors import find_neighbors, value_of
from ambilearn.solvers import solve_confidences, solve_neighbor_weights


class LocalGeometry:
    """Neighbors of unit-length rows, and the Gram matrices of the differences to them.

    The authors' code of PL-CL builds the graph on rows scaled to unit length; the paper does not
    mention it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features; or a kernel matrix, with ``precomputed``.
    n_neighbors : int
        Number of neighbors, less than n.
    backend : Backend, default=HOST
        Backend of the fit.
    precomputed : bool, default=False
        Whether X is the kernel matrix. The graph is then built in the feature space of the kernel,
        also on unit-length vectors; a linear kernel gives the same graph as the features.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        Neighbor search among the unit-length rows; see
        :class:`~ambilearn.graph.neighbors.NeighborSearch`.

    Attributes
    ----------
    neighbor_indices : array of shape (n, k)
    gram : array of shape (n, k, k)
    averages : array of shape (n, k, k) or None
        Result of :func:`duplicate_averages`.
    """

    def __init__(
        self,
        X: Matrix,
        n_neighbors: int,
        backend: Backend = HOST,
        *,
        precomputed: bool = False,
        neighbors: str | BaseEstimator = "auto",
    ) -> None:
        if precomputed:
            from ambilearn.backend.host.products import unit_kernel

            found = find_neighbors(unit_kernel(X), n_neighbors, neighbors, "kernel", backend)
            self.gram = grams_from_products(found.indices, lambda a, b: found.X[a, b])
        else:
            found = find_neighbors(X, n_neighbors, neighbors, "unit", backend)
            self.gram = backend.difference_grams(found.X, found.indices)
        self.neighbor_indices = found.indices
        self.averages = duplicate_averages(self.gram)


def duplicate_averages(gram: Array) -> Array | None:
    """Matrices (n, k, k) that replace each weight by the mean weight of the neighbor's duplicates.

    The reconstruction does not depend on how duplicate neighbors share their weight, so rounding
    would decide. With these matrices, duplicates have equal weights. ``gram`` has the Gram matrices
    of the differences of unit-length rows to their neighbors. The result is the identity for rows
    without duplicate neighbors, and None if no row has any.
    """
    xp, k = array_namespace(gram), gram.shape[1]
    squares = xp.linalg.diagonal(gram)
    identity = xp.eye(k, dtype=gram.dtype, device=device(gram))
    between = gram * -2.0  # in place from here on, to save memory
    between += squares[:, :, None]
    between += squares[:, None, :]
    between += 2 * identity
    is_same = between <= 4 * ROUNDING
    if not xp.any(is_same):
        return None
    same = identity + xp.astype(is_same, gram.dtype)
    return same / xp.sum(same, axis=2, keepdims=True)


class Neighborhoods:
    """Data shared by all graphs of a fit: neighbors, Gram matrices, sparsity pattern.

    ``pattern`` is the sparsity pattern of the graph on the candidate pairs, and ``simplex`` the
    feasible set of the confidences.
    """

    def __init__(self, geometry: LocalGeometry, candidates: Support) -> None:
        self.backend = candidates.backend
        self.geometry = geometry
        self.simplex = candidates.simplex
        self.pattern: Matrix = candidates.neighbor_graph(geometry.neighbor_indices)

    def fit_graph(
        self,
        feature_weight: float,
        label_weight: float = 0.0,
        p: NDArray[np.float64] | None = None,
        start: NDArray[np.float64] | None = None,
    ) -> "AdaptiveGraph":
        """Graph that best reconstructs the features and the confidences, with the weights γ and μ.

        Without the confidences ``p``, a support vector, only the features count. The weights
        ``start`` of an earlier graph, of shape (n, k), are the start of the solver.
        """
        solutions = []
        for block in self.pattern.blocks:
            gram = feature_weight * self.geometry.gram[block.rows, ...]
            if p is not None:
                gram += label_weight * self.pattern.difference_grams(p, block)
            if self.geometry.averages is not None:
                gram = _equalize_duplicates(gram, self.geometry.averages[block.rows, ...])
            block_start = None if start is None else start[block.rows, ...]
            solutions.append(solve_neighbor_weights(gram, block_start))
        xp = array_namespace(gram)
        weights = xp.concat([solution.value for solution in solutions])
        worst = max(solutions, key=lambda each: (not each.is_optimal, each.residual))
        value_of(worst, "neighbor weights")
        return AdaptiveGraph(self, weights)


def _equalize_duplicates(gram: Array, averages: Array) -> Array:
    """Gram matrices whose optimal weights are equal for duplicate neighbors.

    For averages *A* and any weights *w*, :math:`ABA + c(I - A)` is no larger at *Aw* than at *w*,
    and at *Aw* it equals *B*.
    """
    xp, k = array_namespace(gram), gram.shape[1]
    differences = xp.eye(k, dtype=gram.dtype, device=device(gram)) - averages
    scale = xp.linalg.trace(gram)[:, None, None] / k
    return xp.matmul(xp.matmul(averages, gram), averages) + scale * differences


@dataclass(frozen=True, eq=False)
class AdaptiveGraph:
    """A graph *W* between the rows of a fit, with the weights (n, k) of the neighbors."""

    neighborhoods: Neighborhoods
    weights: NDArray[np.float64]

    @cached_property
    def roughness(self) -> Matrix:
        r"""The matrix of :math:`\|(I - W)P\|_F^2` on the support."""
        return self.neighborhoods.pattern.roughness(self.weights)

    def refit(
        self, feature_weight: float, label_weight: float, p: NDArray[np.float64]
    ) -> "AdaptiveGraph":
        """Graph for new confidences."""
        return self.neighborhoods.fit_graph(feature_weight, label_weight, p, self.weights)

    def smooth(
        self,
        start: NDArray[np.float64],
        target: NDArray[np.float64] | None,
        weight: float,
        anchor: float | Array = 1.0,
    ) -> NDArray[np.float64]:
        r"""Confidences that are close to ``target`` and smooth on the graph; support vectors.

        Minimizes :math:`\|P - O\|^2 + c\,\|(I - W)P\|^2` on the candidate simplices, or only the
        second term without a target. ``anchor`` is the weight of the first term, a number or one
        per pair.
        """
        simplex = self.neighborhoods.simplex
        solution = solve_confidences(simplex, self.roughness, target, weight, start, anchor=anchor)
        return value_of(solution, "label confidences")

    def feature_roughness(self) -> float:
        r"""The value of :math:`\|X - WX\|_F^2`."""
        hoods = self.neighborhoods
        return hoods.backend.sum_of_forms(hoods.geometry.gram, self.weights)

    def label_roughness(self, p: NDArray[np.float64]) -> float:
        r"""The value of :math:`\|P - WP\|_F^2` for a support vector."""
        xp = array_namespace(p)
        return float(xp.sum(p * (self.roughness @ p)))

    def output(self) -> Array:
        """The graph *W* of shape (n, n) for a fitted attribute."""
        hoods = self.neighborhoods
        return hoods.backend.graph(hoods.geometry.neighbor_indices, self.weights)


def initial_graph(
    geometry: LocalGeometry, candidates: Support
) -> tuple[AdaptiveGraph, NDArray[np.float64]]:
    """Initial graph, computed only from the features, and the smoothest confidences on it."""
    neighborhoods = Neighborhoods(geometry, candidates)
    graph = neighborhoods.fit_graph(feature_weight=1.0)
    return graph, graph.smooth(candidates.uniform(), target=None, weight=1.0)
