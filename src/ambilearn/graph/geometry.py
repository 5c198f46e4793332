r"""Neighbors of unit-length rows, and the Gram matrices of the differences to them.

The graph of PL-CL and PL-AGGD rebuilds each row from its *k* nearest neighbors. Its weights need
one small Gram matrix per row,

.. math:: (B_i)_{ab} = (z_i - z_a)^\top (z_i - z_b), \qquad a, b \in \mathcal N_i .
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn.backend import HOST, Backend
from ambilearn.backend.host.neighbors import grams_from_products
from ambilearn.graph.neighbors import NeighborSearch, nearest_in_matrix, refuse_search_in_kernel


class LocalGeometry:
    """Neighbors of unit-length rows, and the Gram matrices of the differences to them.

    The authors of PL-CL build the graph on rows scaled to unit length; the paper does not say so.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features; or a kernel matrix, with ``precomputed``.
    n_neighbors : int
        Number of neighbors, less than n.
    backend : Backend, default=HOST
        Where the fit computes.
    precomputed : bool, default=False
        Whether X is the kernel matrix. The graph is then built in the kernel's feature space,
        again on unit-length vectors; with a linear kernel that is the same graph.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How neighbors are searched among the unit-length rows; see
        :class:`~ambilearn.graph.neighbors.NeighborSearch`.

    Attributes
    ----------
    neighbor_indices : array of shape (n, k)
    gram : array of shape (n, k, k)
    """

    def __init__(
        self,
        X: Any,
        n_neighbors: int,
        backend: Backend = HOST,
        *,
        precomputed: bool = False,
        neighbors: Any = "auto",
    ) -> None:
        if precomputed:
            refuse_search_in_kernel(neighbors)
            lengths = np.sqrt(np.clip(np.diag(X), 0, None))
            lengths[lengths == 0] = 1.0
            cosine = X / np.outer(lengths, lengths)
            distances = squared_kernel_distances(cosine)
            self.neighbor_indices = nearest_in_matrix(distances, n_neighbors)
            self.gram = grams_from_products(self.neighbor_indices, lambda a, b: cosine[a, b])
            return
        unit = backend.unit_rows(X)
        self.neighbor_indices = NeighborSearch(neighbors).fit(unit, n_neighbors)
        self.gram = backend.difference_grams(unit, self.neighbor_indices)


def squared_kernel_distances(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances in the feature space of a kernel matrix."""
    squares = np.diag(K)
    distances = squares[:, None] + squares - 2 * K
    return np.clip(distances, 0, None, out=distances)
