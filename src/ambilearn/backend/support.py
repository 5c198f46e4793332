"""The candidate pairs of a fit: what both backends share, and the interface of the rest."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.interface import Backend
from ambilearn.candidates import CandidateSets
from ambilearn.candidates.sets import pair_rows
from ambilearn.solvers import CandidateSimplex


class Support(ABC):
    """The candidate pairs (row, label) of a fit, and operations on support vectors.

    A support vector has one entry per pair; pairs are ordered by row, then by label. ``indptr`` and
    ``labels`` are as in :class:`~ambilearn.candidates.CandidateSets`, but on the device of the fit.
    """

    def __init__(self, sets: CandidateSets, backend: Backend) -> None:
        self.sets, self.backend = sets, backend
        self.classes, self.n_labels = sets.classes, len(sets.classes)
        self.n_rows, self.n_pairs = len(sets), len(sets.labels)
        self.indptr, self.labels = backend.asarray(sets.indptr), backend.asarray(sets.labels)
        weights = sets.row_weights
        self.row_weights = None if weights is None else backend.asarray(weights)

    # --- computed once, in host memory ------------------------------------------------------------

    @cached_property
    def _host_rows(self) -> NDArray[np.intp]:
        return pair_rows(self.sets)

    @cached_property
    def rows(self) -> Array:
        """Row of each pair."""
        return self.backend.asarray(self._host_rows)

    @cached_property
    def sizes(self) -> Array:
        """Number of candidates of each row."""
        return self.backend.asarray(self.sets.sizes)

    @cached_property
    def pair_weights(self) -> float | Array:
        """Weight of each pair's row; the scalar 1.0 if all weights are equal."""
        weights = self.sets.row_weights
        return 1.0 if weights is None else self.backend.asarray(weights[self._host_rows])

    def uniform(self) -> Array:
        """Equal confidence for every candidate, :math:`1 / |S_i|`."""
        return self.backend.asarray(self._shares(None))

    def prior(self) -> Array:
        r"""Weight :math:`\Pi_{ij}` of every candidate divided by the sum of its row.

        Without weights, and in rows with equal weights, exactly equal to :meth:`uniform`.
        """
        return self.backend.asarray(self._shares(self.sets.weights))

    def preference(self) -> Array:
        r"""Difference :math:`\Pi_{ij} - 1 / |S_i|` between prior and uniform confidences."""
        return self.prior() - self.uniform()

    @cached_property
    def relative_weights(self) -> Array:
        """Weight of every candidate relative to the largest of its row; 1 without weights."""
        return self.backend.asarray(self._relative(self.sets.weights))

    def _relative(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        if weights is None:
            return np.ones(self.n_pairs)
        largest = np.maximum.reduceat(weights, self.sets.indptr[:-1])
        return weights / largest[self._host_rows]

    def _shares(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        if weights is None:
            return np.repeat(1.0 / self.sets.sizes, self.sets.sizes)
        relative = self._relative(weights)
        return relative / np.add.reduceat(relative, self.sets.indptr[:-1])[self._host_rows]

    # --- support vectors and matrices -------------------------------------------------------------

    @abstractmethod
    def gather(self, matrix: Matrix) -> Array:
        """Entries of an (n_rows, n_labels) matrix on the support."""

    @abstractmethod
    def scatter(self, values: Array, off_support: float | Array = 0.0) -> Array:
        """Dense (n_rows, n_labels) matrix; ``off_support`` is a number, or one per row."""

    @abstractmethod
    def scatter_rows(self, values: Array, off_support: float | Array, rows: slice) -> Array:
        """As :meth:`scatter`, for a slice of the rows; ``off_support`` belongs to these rows."""

    @abstractmethod
    def as_output(self, values: Array, off_support: float = 0.0) -> Array:
        """Support vector for a fitted attribute: sparse if the candidates are a sparse mask.

        The sparse form stores every pair, zeros included; entries that it does not store are
        ``off_support``.
        """

    @abstractmethod
    def vote_table(self, values: Array) -> Array:
        """Support vector as the table for :meth:`Backend.count_votes`."""

    @abstractmethod
    def largest(self, values: Array) -> Array:
        """Largest value of each row."""

    @abstractmethod
    def best_labels(self, values: Array) -> Array:
        """Column of the largest value of each row; ties keep the label order."""

    def best(self, matrix: Matrix) -> Array:
        """Candidate with the largest entry in each row of a matrix."""
        return self.backend.take_classes(self.classes, self.best_labels(self.gather(matrix)))

    @abstractmethod
    def row_sums(self, values: Array) -> Array:
        """Sum of the values of each row."""

    @abstractmethod
    def label_sums(self, values: Array) -> Array:
        """Sum of the values of each label."""

    @cached_property
    @abstractmethod
    def simplex(self) -> CandidateSimplex:
        """The probability simplices over the candidates of each row."""

    # --- regression and graphs on the support -----------------------------------------------------

    @abstractmethod
    def target_sums(
        self, features: Matrix, values: Array, off_support: float | Array
    ) -> tuple[Array, Array]:
        r"""Sums :math:`\Phi^\top T` and :math:`\mathbf 1^\top T` of targets with features.

        The targets are ``values`` on the support and ``off_support``, a number or one per row,
        off it; rows with weights *v* count :math:`v_i t_{ij}`.
        """

    @abstractmethod
    def pair_outputs(self, features: Matrix, coef: Array, intercept: Array) -> Array:
        r"""Outputs :math:`w_j^\top \phi_i + b_j` of the pairs (i, j)."""

    @abstractmethod
    def neighbor_graph(self, neighbor_indices: Array) -> Matrix:
        """The pattern of an adaptive graph; see :class:`~ambilearn.solvers.SupportGraph`."""

    @abstractmethod
    def restrict(self, graph: Matrix) -> Matrix:
        """A graph of :meth:`Backend.graph` as a matrix on the support; supports ``@``."""

    @abstractmethod
    def laplacian(self, graph: Matrix) -> Matrix:
        """The matrix *I* minus :meth:`restrict`; supports ``@``."""
