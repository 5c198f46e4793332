"""Candidate pairs in host memory."""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.host import products
from ambilearn.backend.support import Support
from ambilearn.solvers import CandidateSimplex, SupportGraph


class HostSupport(Support):
    """The candidate pairs of a fit in host memory."""

    def gather(self, matrix: Matrix) -> Array:
        return np.asarray(matrix[self.rows, self.labels]).ravel()

    def scatter(self, values: ArrayLike, off_support: float | Array = 0.0) -> NDArray[np.float64]:
        matrix = np.empty((self.n_rows, self.n_labels))
        matrix[...] = _as_column(off_support)
        matrix[self.rows, self.labels] = values
        return matrix

    def scatter_rows(
        self, values: NDArray[np.float64], off_support: float | Array, rows: slice
    ) -> NDArray[np.float64]:
        pairs = slice(self.indptr[rows.start], self.indptr[rows.stop])
        matrix = np.empty((rows.stop - rows.start, self.n_labels))
        matrix[...] = _as_column(off_support)
        matrix[self.rows[pairs] - rows.start, self.labels[pairs]] = values[pairs]
        return matrix

    def to_csr(self, values: Array) -> sparse.csr_array:
        """A support vector as CSR matrix of shape (n_rows, n_labels), without a copy."""
        parts = values, self.labels, self.indptr
        return sparse.csr_array(parts, shape=(self.n_rows, self.n_labels))

    def as_output(self, values: NDArray[np.float64], off_support: float = 0.0) -> Array:
        if not self.sets.sparse_mask:
            return self.scatter(values, off_support)
        return self.to_csr(values).copy()  # the user may modify it

    def vote_table(self, values: NDArray[np.float64]) -> sparse.csr_array:
        return self.to_csr(values).copy()  # a fitted attribute

    def largest(self, values: Array) -> Array:
        return np.maximum.reduceat(values, self.indptr[:-1])

    def best_pairs(self, values: Array) -> NDArray[np.intp]:
        """Pair of the largest value of each row, shape (n_rows,); ties keep the label order."""
        hits = np.flatnonzero(values == self.largest(values)[self.rows])
        return hits[np.searchsorted(hits, self.indptr[:-1])]

    def best_labels(self, values: Array) -> NDArray[np.intp]:
        return self.labels[self.best_pairs(values)]

    def row_sums(self, values: NDArray[np.float64]) -> Array:
        return np.bincount(self.rows, values, self.n_rows)

    def label_sums(self, values: NDArray[np.float64]) -> Array:
        return np.bincount(self.labels, values, self.n_labels)

    @cached_property
    def simplex(self) -> CandidateSimplex:
        return CandidateSimplex(self.indptr)

    target_sums = products.target_sums
    pair_outputs = products.pair_outputs

    def neighbor_graph(self, neighbor_indices: NDArray[np.intp]) -> SupportGraph:
        return SupportGraph(self.indptr, self.labels, neighbor_indices)

    def restrict(self, graph: sparse.csr_array) -> sparse.csr_array:
        return products.restrict_to_support(graph, self.indptr, self.labels)

    def laplacian(self, graph: sparse.csr_array) -> sparse.csr_array:
        return (sparse.eye_array(self.n_pairs) - self.restrict(graph)).tocsr()


def _as_column(off_support: float | Array) -> float | Array:
    """One number per row as a column; a single number unchanged."""
    if isinstance(off_support, int | float) or off_support.ndim != 1:
        return off_support
    return off_support[:, None]
