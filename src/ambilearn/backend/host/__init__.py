"""The backend for NumPy arrays and SciPy sparse matrices: LAPACK in place, CSR, small blocks."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from ambilearn._utils.limits import row_blocks
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.host import distances, neighbors
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

    squared_distances = staticmethod(distances.squared_distances)
    _mean_distance = staticmethod(distances.mean_distance)
    gaussian = staticmethod(distances.gaussian)

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
    neighbor_products = staticmethod(neighbors.neighbor_products)
    difference_grams = staticmethod(neighbors.difference_grams)
    squared_residuals = staticmethod(neighbors.squared_residuals)

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
