"""The interface of a backend: everything that differs between the CPU and a device.

A :class:`Backend` has the operations on rows (kernels, factorizations, neighbors), and a
:class:`~ambilearn.backend.support.Support` the candidate pairs and the operations on them. Each has
two implementations, :mod:`ambilearn.backend.host` (NumPy and SciPy) and
:mod:`ambilearn.backend.device` (the array API), which pass the same tests.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.types import Array, Matrix
from ambilearn.candidates import CandidateSets
from ambilearn.solvers import CandidateSimplex

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


class Backend(Protocol):
    """Operations on the rows of a fit."""

    # --- arrays -----------------------------------------------------------------------------------

    def support(self, sets: CandidateSets) -> Any:
        """The candidate pairs of a fit, a Support with arrays of this backend."""

    def asarray(self, values: Array) -> Array:
        """Convert a NumPy array; text stays a NumPy array."""

    def take_rows(self, X: Matrix, rows: NDArray[np.intp]) -> Array:
        """Rows of an array or sparse matrix by index."""

    def take_classes(self, classes: Array, columns: Array) -> Array:
        """Labels of the given columns; text labels are a NumPy array."""

    def blocks(self, X: Matrix, numbers_per_row: int = 1) -> Iterator[slice]:
        """Slices that cover the rows of X; each row needs ``numbers_per_row`` numbers of memory."""

    def largest_magnitude(self, X: Matrix) -> float:
        """Largest absolute value in X."""

    # --- kernels ----------------------------------------------------------------------------------

    def squared_distances(self, X: Matrix, Z: Matrix | None = None) -> Array:
        """Squared distances of the rows of X and Z; without Z of X and X, with a zero diagonal."""

    def as_kernel(self, K: Matrix) -> Array:
        """The result of a user's kernel function as an array of this backend."""

    def whitening(self, K: Matrix) -> Array:
        r"""The matrix :math:`U\Lambda^{-1/2}` of a kernel matrix :math:`U \Lambda U^\top`."""

    def factorize(self, matrix: Matrix, ridge: float, overwrite: bool) -> Factor:
        """Cholesky factor of ``matrix + ridge * I``."""

    # --- neighbors and graphs ---------------------------------------------------------------------

    def unit_rows(self, X: Matrix) -> Array:
        """Rows scaled to unit length; zero rows stay zero."""

    def exact_search(self, X: Matrix) -> ExactSearch:
        """Exact neighbor search among the rows of X."""

    def neighbor_distances(self, X: Matrix, Z: Matrix, neighbor_indices: Array) -> Array:
        """Distances of the rows of X to their neighbors in Z, shape (n, k)."""

    def neighbor_products(self, X: Matrix, Z: Matrix, neighbor_indices: Array) -> Array:
        """Inner products of each row of X and its neighbors in Z, shape (n, k + 1, k + 1).

        The row comes first, then its neighbors.
        """

    def difference_grams(self, Z: Matrix, neighbor_indices: Array) -> Array:
        r"""Gram matrices :math:`(z_i - z_a)^\top (z_i - z_b)` over the neighbors, (n, k, k)."""

    def sum_of_forms(self, gram: Array, weights: Array) -> float:
        r"""The sum of :math:`w_i^\top B_i w_i` for matrices (n, k, k) and weights (n, k)."""

    def graph(self, neighbor_indices: Array, weights: Array) -> Matrix:
        """Graph for a fitted attribute: a CSR matrix, or a ``DeviceGraph``."""

    def symmetric_graph(self, neighbor_indices: Array, weights: Array) -> Matrix:
        r"""The graph :math:`D^{-1/2} (W + W^\top) D^{-1/2}` with the degrees *D*."""

    def count_votes(self, neighbor_indices: Array, weights: Array, table: Array) -> Array:
        """Weighted sums of the neighbors' rows of a table (m, l) or :meth:`Support.vote_table`."""

    def squared_residuals(
        self, weights: Array, products: Array, labels: Array, n_labels: int
    ) -> Array:
        r"""Squared distance of each row to its reconstruction from neighbors of one label, (n, l).

        .. math:: \Big\|x_i - \sum_{a : y_a = j} w_{ia} x_a\Big\|^2

        from the ``products`` of :meth:`neighbor_products` and the neighbors' ``labels``.
        """


class SupportOperations(Protocol):
    """Operations on support vectors, which have one entry per candidate pair of a fit."""

    # --- support vectors and matrices -------------------------------------------------------------

    def gather(self, matrix: Matrix) -> Array:
        """Entries of an (n_rows, n_labels) matrix on the support."""

    def scatter(self, values: Array, off_support: float | Array = 0.0) -> Array:
        """Dense (n_rows, n_labels) matrix; ``off_support`` is a number, or one per row."""

    def scatter_rows(self, values: Array, off_support: float | Array, rows: slice) -> Array:
        """As :meth:`scatter`, for a slice of the rows; ``off_support`` belongs to these rows."""

    def as_output(self, values: Array, off_support: float = 0.0) -> Array:
        """Support vector for a fitted attribute: sparse if the candidates are a sparse mask.

        The sparse form stores every pair, zeros included; entries that it does not store are
        ``off_support``.
        """

    def vote_table(self, values: Array) -> Array:
        """Support vector as the table for :meth:`Backend.count_votes`."""

    def largest(self, values: Array) -> Array:
        """Largest value of each row."""

    def best_labels(self, values: Array) -> Array:
        """Column of the largest value of each row; ties keep the label order."""

    def row_sums(self, values: Array) -> Array:
        """Sum of the values of each row."""

    def label_sums(self, values: Array) -> Array:
        """Sum of the values of each label."""

    @cached_property
    def simplex(self) -> CandidateSimplex:
        """The probability simplices over the candidates of each row."""

    # --- regression and graphs on the support -----------------------------------------------------

    def target_sums(
        self, features: Matrix, values: Array, off_support: float | Array
    ) -> tuple[Array, Array]:
        r"""Sums :math:`\Phi^\top T` and :math:`\mathbf 1^\top T` of targets with features.

        The targets are ``values`` on the support and ``off_support``, a number or one per row,
        off it; rows with weights *v* count :math:`v_i t_{ij}`.
        """

    def pair_outputs(self, features: Matrix, coef: Array, intercept: Array) -> Array:
        r"""Outputs :math:`w_j^\top \phi_i + b_j` of the pairs (i, j)."""

    def neighbor_graph(self, neighbor_indices: Array) -> Matrix:
        """The pattern of an adaptive graph; see :class:`~ambilearn.solvers.SupportGraph`."""

    def restrict(self, graph: Matrix) -> Matrix:
        """A graph of :meth:`Backend.graph` as a matrix on the support; supports ``@``."""

    def laplacian(self, graph: Matrix) -> Matrix:
        """The matrix *I* minus :meth:`restrict`; supports ``@``."""
