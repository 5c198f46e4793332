"""The interface of a backend: everything that differs between the CPU and a device.

A :class:`Backend` has the operations on rows (kernels, factorizations, neighbors), and a
:class:`~ambilearn.backend.support.Support` the candidate pairs and the operations on them. Each has
two implementations, :mod:`ambilearn.backend.host` (NumPy and SciPy) and
:mod:`ambilearn.backend.device` (the array API), which pass the same tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.types import Array, Matrix
from ambilearn.candidates import CandidateSets

_NO_WEIGHT = 1e-11  # rows below this share of the largest weight have weight zero
MIN_EIGENVALUE_RATIO = 1e-13  # eigenvalues below this share of the largest are rounding errors


class Factor(Protocol):
    """A Cholesky factor of a symmetric positive definite matrix *M*."""

    def solve(self, columns: Array) -> Array:
        r"""The product :math:`M^{-1} C` with columns *C* of shape (n, c)."""

    def inverse_diagonal(self) -> Array:
        r"""The diagonal of :math:`M^{-1}`, shape (n,)."""


class ExactSearch(Protocol):
    """An exact neighbor search among fixed rows."""

    def nearest(self, queries: Matrix | None, k: int) -> Array:
        """Indices of the k nearest rows of each query, nearest first; ties keep the row order.

        Without queries, of the k nearest *other* rows of each row.
        """


class Backend(ABC):
    """Operations on the rows of a fit."""

    # --- arrays -----------------------------------------------------------------------------------

    @abstractmethod
    def support(self, sets: CandidateSets) -> Any:
        """The candidate pairs of a fit, a Support with arrays of this backend."""

    @abstractmethod
    def asarray(self, values: Array) -> Array:
        """Convert a NumPy array; text stays a NumPy array."""

    @abstractmethod
    def take_rows(self, X: Matrix, rows: NDArray[np.intp]) -> Array:
        """Rows of an array or sparse matrix by index."""

    @abstractmethod
    def take_classes(self, classes: Array, columns: Array) -> Array:
        """Labels of the given columns; text labels are a NumPy array."""

    @abstractmethod
    def blocks(self, X: Matrix, numbers_per_row: int = 1) -> Iterator[slice]:
        """Slices that cover the rows of X; each row needs ``numbers_per_row`` numbers of memory."""

    @abstractmethod
    def largest_magnitude(self, X: Matrix) -> float:
        """Largest absolute value in X."""

    # --- kernels ----------------------------------------------------------------------------------

    @abstractmethod
    def squared_distances(self, X: Matrix, Z: Matrix | None = None) -> Array:
        """Squared distances of the rows of X and Z; without Z of X and X, with a zero diagonal."""

    @abstractmethod
    def mean_distance(self, squared: Array, row_weights: Array | None = None) -> float:
        """Mean of the off-diagonal distances, given their squares; 1 if all are zero.

        A row of weight *v* counts as *v* copies.
        """

    def weighted_mean_distance(self, squared: Array, row_weights: Array) -> float:
        """As :meth:`mean_distance`, for rows with weights."""
        xp = array_namespace(squared)
        weights = row_weights / xp.max(row_weights)  # so that no product overflows
        weights = xp.where(weights < _NO_WEIGHT, 0.0, weights)
        total = 0.0
        for rows in self.blocks(squared, squared.shape[0]):
            total += float(xp.sum(weights[rows] * (xp.sqrt(squared[rows, ...]) @ weights)))
        # Pairs of all copies of all rows, without pairs of a copy with itself.
        itself = xp.where(row_weights < 1, row_weights, 1.0) / xp.max(row_weights)
        n_pairs = float(xp.sum(weights)) ** 2 - float(xp.sum(weights * itself))
        return total / n_pairs if total > 0 else 1.0

    @abstractmethod
    def gaussian(self, squared: Array, sigma: float) -> Array:
        r"""The kernel :math:`\exp(-d^2 / 2\sigma^2)` of squared distances, in place."""

    @abstractmethod
    def as_kernel(self, K: Matrix) -> Array:
        """The result of a user's kernel function as an array of this backend."""

    @abstractmethod
    def whitening(self, K: Matrix) -> Array:
        r"""The matrix :math:`U\Lambda^{-1/2}` of a kernel matrix :math:`U \Lambda U^\top`."""

    @abstractmethod
    def factorize(self, matrix: Matrix, ridge: float, overwrite: bool) -> Factor:
        """Cholesky factor of ``matrix + ridge * I``."""

    # --- neighbors and graphs ---------------------------------------------------------------------

    @abstractmethod
    def unit_rows(self, X: Matrix) -> Array:
        """Rows scaled to unit length; zero rows stay zero."""

    @abstractmethod
    def exact_search(self, X: Matrix) -> ExactSearch:
        """Exact neighbor search among the rows of X."""

    @abstractmethod
    def neighbor_distances(self, X: Matrix, Z: Matrix, neighbor_indices: Array) -> Array:
        """Distances of the rows of X to their neighbors in Z, shape (n, k)."""

    @abstractmethod
    def neighbor_products(self, X: Matrix, Z: Matrix, neighbor_indices: Array) -> Array:
        """Inner products of each row of X and its neighbors in Z, shape (n, k + 1, k + 1).

        The row comes first, then its neighbors.
        """

    @abstractmethod
    def difference_grams(self, Z: Matrix, neighbor_indices: Array) -> Array:
        r"""Gram matrices :math:`(z_i - z_a)^\top (z_i - z_b)` over the neighbors, (n, k, k)."""

    @abstractmethod
    def sum_of_forms(self, gram: Array, weights: Array) -> float:
        r"""The sum of :math:`w_i^\top B_i w_i` for matrices (n, k, k) and weights (n, k)."""

    @abstractmethod
    def graph(self, neighbor_indices: Array, weights: Array) -> Matrix:
        """Graph for a fitted attribute: a CSR matrix, or a ``DeviceGraph``."""

    @abstractmethod
    def symmetric_graph(self, neighbor_indices: Array, weights: Array) -> Matrix:
        r"""The graph :math:`D^{-1/2} (W + W^\top) D^{-1/2}` with the degrees *D*."""

    @abstractmethod
    def count_votes(self, neighbor_indices: Array, weights: Array, table: Array) -> Array:
        """Weighted sums of the neighbors' rows of a table (m, l) or :meth:`Support.vote_table`."""

    @abstractmethod
    def squared_residuals(
        self, weights: Array, products: Array, labels: Array, n_labels: int
    ) -> Array:
        r"""Squared distance of each row to its reconstruction from neighbors of one label, (n, l).

        .. math:: \Big\|x_i - \sum_{a : y_a = j} w_{ia} x_a\Big\|^2

        from the ``products`` of :meth:`neighbor_products` and the neighbors' ``labels``.
        """
