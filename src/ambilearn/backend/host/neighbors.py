"""Neighbors in host memory: exact search, distances, and graphs as CSR matrices."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from ambilearn._utils.limits import IN_CACHE, row_blocks, threads_for
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.arrays import column_centers, subtract_from_rows
from ambilearn.backend.host.products import grams_from_products, sparse_products
from ambilearn.backend.ties import (
    EXTRA_NEIGHBORS,
    nearest_first,
    nearest_places,
    zero_if_coincident,
)


def unit_rows(X: Matrix) -> Array:
    """Rows scaled to unit length; zero rows stay zero."""
    norms = np.sqrt(row_norms(X, squared=True))
    norms[norms == 0] = 1.0
    if sparse.issparse(X):
        unit = X.tocsr(copy=True)
        unit.data /= np.repeat(norms, np.diff(unit.indptr))
        return unit
    return X / norms[:, None]


class HostSearch:
    """Exact search among rows in host memory."""

    def __init__(self, X: Matrix) -> None:
        self._X = X
        # Centered, because the products of a search lose precision far from the origin.
        self._center = column_centers(X)
        self._centered = subtract_from_rows(X, self._center)
        self._search = NearestNeighbors().fit(self._centered)

    def nearest(self, queries: Matrix | None, k: int) -> NDArray[np.intp]:
        available = self._X.shape[0] - (queries is None)
        wanted = min(k + EXTRA_NEIGHBORS, available)
        centered = None if queries is None else subtract_from_rows(queries, self._center)
        with threads_for(0):  # scikit-learn sets and restores the number, too, without a lock
            found = self._search.kneighbors(centered, wanted, return_distance=False)
        found = np.sort(found, axis=1)
        rows = self._X if queries is None else queries
        distances = neighbor_distances(rows, self._X, found)
        places, tied = nearest_places(distances, k)
        nearest = np.take_along_axis(found, places, axis=1)
        if wanted < available and tied.any():
            reach = np.take_along_axis(distances, places[:, -1:], axis=1)
            for block in row_blocks(tied.sum(), 4 * self._X.shape[0]):
                asked = np.flatnonzero(tied)[block]
                own = asked if queries is None else None
                nearest[asked] = self._compare_all(rows[asked], reach[asked], own, k)
        return nearest

    def _compare_all(
        self, rows: Array, reach: NDArray[np.float64], own: NDArray[np.intp] | None, k: int
    ) -> NDArray[np.intp]:
        """The k nearest of all rows, where ties extend beyond the proposed neighbors.

        ``reach``, of shape (m, 1), is the distance of the k-th neighbors of the rows, and ``own``
        has the numbers of the rows, which are not their own neighbors.
        """
        # The matrix product is fast but inexact: only clearly farther rows are excluded.
        centered = subtract_from_rows(rows, self._center)
        squared = euclidean_distances(centered, self._centered, squared=True)
        longest = sum(row_norms(each, squared=True).max() for each in (centered, self._centered))
        near = squared <= reach**2 * (1 + 1e-6) + 1e-12 * longest
        if own is not None:
            near[np.arange(len(own)), own] = False
        distances = np.full(near.shape, np.inf)
        which, others = np.nonzero(near)
        distances[near] = pair_distances(rows, which, self._X, others)
        return nearest_first(distances)[:, :k]


def pair_distances(
    X: Matrix, rows: NDArray[np.intp], Z: Matrix, others: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Euclidean distance of each pair (``X[rows[p]]``, ``Z[others[p]]``), shape (n_pairs,).

    Computed from differences, so that the distance of duplicates is zero: the matrix product in a
    neighbor search has rounding errors of 1e-7. The distance of rows that are equal up to rounding
    is also zero.
    """
    distances = np.empty(len(rows))
    held = 1 + X.nnz // X.shape[0] if sparse.issparse(X) else X.shape[1]
    for block in row_blocks(len(rows), held, limit=IN_CACHE):
        distances[block] = row_norms(X[rows[block]] - Z[others[block]])
    return zero_if_coincident(distances, row_norms(X)[rows])


def neighbor_distances(
    X: Matrix, Z: Matrix, neighbor_indices: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Distances of the rows of X to their neighbors in Z, shape (n, k)."""
    rows = np.repeat(np.arange(X.shape[0]), neighbor_indices.shape[1])
    return pair_distances(X, rows, Z, neighbor_indices.ravel()).reshape(neighbor_indices.shape)


def difference_grams(Z: Matrix, neighbor_indices: NDArray[np.intp]) -> NDArray[np.float64]:
    """Gram matrices of the differences of each row of Z to its neighbors, shape (n, k, k)."""
    if sparse.issparse(Z):
        Z = subtract_from_rows(Z, column_centers(Z))
        return grams_from_products(neighbor_indices, lambda a, b: sparse_products(Z, a, b))
    n, k = neighbor_indices.shape
    gram = np.empty((n, k, k))
    for block in row_blocks(n, k * Z.shape[1], limit=IN_CACHE):
        differences = Z[block, None, :] - Z[neighbor_indices[block]]
        np.matmul(differences, differences.transpose(0, 2, 1), out=gram[block])
    return gram


def weights_to_csr(
    neighbor_indices: NDArray[np.intp], weights: NDArray[np.float64], n_columns: int | None = None
) -> sparse.csr_array:
    """The graph *W* as CSR matrix without stored zeros; row *i* has the weights of its neighbors.

    It is square unless ``n_columns`` is given, the number of rows that were searched.
    """
    n, k = neighbor_indices.shape
    # Copies, because the cleanup below works in place.
    parts = (weights.flatten(), neighbor_indices.flatten(), np.arange(0, n * k + 1, k))
    graph = sparse.csr_array(parts, shape=(n, n_columns or n))
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph
