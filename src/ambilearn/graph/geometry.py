r"""Neighbors of unit-length rows, and the Gram matrices of the differences to them.

The graph of PL-CL and PL-AGGD reconstructs each row from its *k* nearest neighbors. Its weights
require one small Gram matrix per row,

.. math:: (B_i)_{ab} = (z_i - z_a)^\top (z_i - z_b), \qquad a, b \in \mathcal N_i .
"""

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import HOST, Backend
from ambilearn.backend.host.neighbors import ROUNDING, grams_from_products
from ambilearn.graph.neighbors import (
    NeighborSearch,
    nearest_in_matrix,
    reject_search_in_kernel,
    squared_kernel_distances,
)


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
            reject_search_in_kernel(neighbors)
            lengths = np.sqrt(np.clip(np.diag(X), 0, None))
            lengths[lengths == 0] = 1.0
            cosine = X / np.outer(lengths, lengths)
            distances = squared_kernel_distances(cosine)
            self.neighbor_indices = nearest_in_matrix(distances, n_neighbors)
            self.gram = grams_from_products(self.neighbor_indices, lambda a, b: cosine[a, b])
            self.averages = duplicate_averages(self.gram)
            return
        unit = backend.unit_rows(X)
        self.neighbor_indices = NeighborSearch(neighbors).fit(unit, n_neighbors)
        self.gram = backend.difference_grams(unit, self.neighbor_indices)
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
