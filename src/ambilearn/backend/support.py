"""The candidate pairs of a fit, as far as both backends share them."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.interface import Backend, SupportOperations
from ambilearn.candidates import CandidateSets
from ambilearn.candidates.sets import pair_rows


class Support(SupportOperations):
    """The candidate pairs (row, label) of a fit, ordered by row, then by label.

    ``indptr`` and ``labels`` are as in :class:`~ambilearn.candidates.CandidateSets`, but on the
    device of the fit.
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

    def best(self, matrix: Matrix) -> Array:
        """Candidate with the largest entry in each row of a matrix."""
        return self.backend.take_classes(self.classes, self.best_labels(self.gather(matrix)))
