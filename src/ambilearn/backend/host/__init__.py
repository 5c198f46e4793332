"""The backend for NumPy arrays and SciPy sparse matrices: LAPACK in place, CSR, small blocks."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.metrics.pairwise import euclidean_distances

from ambilearn._utils.limits import row_blocks
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.arrays import column_centers, subtract_from_rows
from ambilearn.backend.host import neighbors, products
from ambilearn.backend.host.support import HostSupport
from ambilearn.backend.interface import MIN_EIGENVALUE_RATIO, Backend, Factor
from ambilearn.candidates import CandidateSets
from ambilearn.solvers import factorize_by_lapack


class HostBackend(Backend):
    """Operations on the rows of a fit in host memory."""

    def support(self, sets: CandidateSets) -> HostSupport:
        return HostSupport(sets, self)

    def asarray(self, values: Array) -> Array:
        return values

    def take_rows(self, X: Matrix, rows: NDArray[np.intp]) -> Array:
        return X[rows]

    def take_classes(self, classes: Array, columns: Array) -> Array:
        return classes[columns]

    def blocks(self, X: Matrix, numbers_per_row: int = 1) -> Iterator[slice]:
        return row_blocks(X.shape[0], numbers_per_row)

    def largest_magnitude(self, X: Matrix) -> float:
        values = X.data if sparse.issparse(X) else X
        return float(max(values.max(initial=0.0), -values.min(initial=0.0)))

    def squared_distances(self, X: Matrix, Z: Matrix | None = None) -> Array:
        if Z is None:
            squared = self.squared_distances(X, X)
            np.fill_diagonal(squared, 0.0)
            return squared
        # Centered, because the product below loses precision far from the origin.
        center = column_centers(Z)
        same, Z = X is Z, subtract_from_rows(Z, center)
        X = Z if same else subtract_from_rows(X, center)
        if sparse.issparse(X) or sparse.issparse(Z):
            return euclidean_distances(X, Z, squared=True)
        squared = np.empty((len(X), len(Z)))
        x_norms, z_norms = (X**2).sum(axis=1, keepdims=True), (Z**2).sum(axis=1)
        for block in row_blocks(*squared.shape):
            distances = np.matmul(X[block], Z.T, out=squared[block])
            distances *= -2.0
            distances += x_norms[block]
            distances += z_norms
            np.maximum(distances, 0.0, out=distances)
        return squared

    def as_kernel(self, K: Matrix) -> Array:
        return np.asarray(K, dtype=np.float64)

    def whitening(self, K: Matrix) -> Array:
        values, vectors = linalg.eigh((K + K.T) / 2)
        kept = values > MIN_EIGENVALUE_RATIO * values[-1]
        return vectors[:, kept] / np.sqrt(values[kept])

    def factorize(self, matrix: Matrix, ridge: float, overwrite: bool) -> Factor:
        return factorize_by_lapack(matrix, ridge, overwrite)

    unit_rows = staticmethod(neighbors.unit_rows)
    exact_search = staticmethod(neighbors.HostSearch)
    neighbor_distances = staticmethod(neighbors.neighbor_distances)
    neighbor_products = staticmethod(products.neighbor_products)
    difference_grams = staticmethod(neighbors.difference_grams)
    squared_residuals = staticmethod(products.squared_residuals)

    def sum_of_forms(self, gram: Array, weights: Array) -> float:
        return float(np.einsum("ia,iab,ib->", weights, gram, weights, optimize=True))

    def graph(self, neighbor_indices: Array, weights: Array) -> sparse.csr_array:
        return neighbors.weights_to_csr(neighbor_indices, weights)

    def symmetric_graph(self, neighbor_indices: Array, weights: Array) -> sparse.csr_array:
        one_way = neighbors.weights_to_csr(neighbor_indices, weights)
        graph = one_way + one_way.T
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        scale = sparse.diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
        return (scale @ graph @ scale).tocsr()

    def count_votes(self, neighbor_indices: Array, weights: Array, table: Array) -> Array:
        return neighbors.weights_to_csr(neighbor_indices, weights, table.shape[0]) @ table


HOST = HostBackend()
