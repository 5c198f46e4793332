"""Candidate sets whose support is on a device: the same list of pairs, in arrays of its library."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace, device, is_numpy_array

from ambilearn._utils.devices import to_like, to_numpy
from ambilearn.candidates.sets import CandidateSets


@dataclass(frozen=True, eq=False)
class DeviceCandidates(CandidateSets):
    """Candidate sets on a device.

    What is counted once, such as shares, is counted by ``host`` and moved; what is computed in
    every round of a fit is computed there. Dense matrices are filled by gathering: the pairs are
    sorted, so each place finds its own.

    Parameters
    ----------
    host : CandidateSets
        The same sets in the processor's memory.
    like : array
        An array of the library, on the device.
    """

    host: CandidateSets = field(kw_only=True)
    like: Any = field(kw_only=True)

    @classmethod
    def of(cls, host: CandidateSets, like: Any) -> "DeviceCandidates":
        """These sets where another array is."""
        rows = None if host.row_weights is None else to_like(host.row_weights, like)
        weights = None if host.weights is None else to_like(host.weights, like)
        return cls(
            host.classes,
            to_like(host.indptr, like),
            to_like(host.labels, like),
            False,  # sparse matrices are SciPy's: results are dense here
            weights,
            rows,
            host=host,
            like=like,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.host.n_rows

    @cached_property
    def sizes(self) -> Any:
        """Number of candidates of each row."""
        return self.indptr[1:] - self.indptr[:-1]

    @cached_property
    def rows(self) -> Any:
        """Row of each pair."""
        return to_like(self.host.rows, self.like)

    @property
    def in_memory(self) -> CandidateSets:
        """The same sets in the processor's memory."""
        return self.host

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All that the sets are made of, in the processor's memory."""
        return self.host.arrays

    @cached_property
    def _flat(self) -> Any:
        """Place of each pair in a matrix of rows and labels, ascending."""
        return self.rows * self.n_labels + self.labels

    def gather(self, matrix: Any) -> Any:
        """Entries of an (n_rows, n_labels) array on the support, one per pair."""
        xp = array_namespace(matrix)
        return xp.take(xp.reshape(matrix, (-1,)), self._flat)

    def gather_rows(self, matrix: Any, rows: slice) -> Any:
        """The same of some rows, whose entries ``matrix`` has."""
        xp = array_namespace(matrix)
        places = self._flat[self._pairs(rows)] - rows.start * self.n_labels
        return xp.take(xp.reshape(matrix, (-1,)), places)

    def scatter(self, values: Any, off_support: Any = 0.0) -> Any:
        """Dense (n_rows, n_labels) matrix with values on the support and off it."""
        return self._fill(values, off_support, self._places, (self.n_rows, self.n_labels))

    def scatter_rows(self, values: Any, off_support: Any, rows: slice) -> Any:
        """The same of some rows; ``off_support`` is one number, or one for each of them."""
        pairs = self._pairs(rows)
        shape = rows.stop - rows.start, self.n_labels
        places = _places(self._flat[pairs] - rows.start * self.n_labels, shape)
        return self._fill(values[pairs], off_support, places, shape)

    def moved(self, values: Any) -> Any:
        """A support vector where the sets are, from the processor's memory."""
        return to_like(values, self.like)

    def _fill(self, values: Any, off_support: Any, places: Any, shape: tuple[int, int]) -> Any:
        xp = array_namespace(values)
        nothing = xp.zeros((1,), dtype=values.dtype, device=device(values))
        padded = xp.concat([values, nothing])
        matrix = xp.reshape(xp.take(padded, places), shape)
        if getattr(off_support, "ndim", 0):
            off_support = xp.reshape(off_support, (-1, 1))
        elif off_support == 0:
            return matrix
        is_there = xp.reshape(places < values.shape[0], shape)
        return xp.where(is_there, matrix, off_support)

    @cached_property
    def _places(self) -> Any:
        return _places(self._flat, (self.n_rows, self.n_labels))

    def _pairs(self, rows: slice) -> slice:
        return slice(int(self.host.indptr[rows.start]), int(self.host.indptr[rows.stop]))

    def as_output(self, values: Any, off_support: float = 0.0) -> Any:
        """A support vector in the form that a user gets: dense."""
        return self.scatter(values, off_support)

    def best_labels(self, values: Any) -> Any:
        """Column of the largest value of each row, the first of equals."""
        xp = array_namespace(values)
        return xp.argmax(self.scatter(values, -xp.inf), axis=1)

    def best(self, matrix: Any) -> Any:
        """Label of the largest entry of each row of ``matrix`` among the row's candidates."""
        return take_classes(self.classes, self.best_labels(self.gather(matrix)))

    def largest(self, values: Any) -> Any:
        """Largest value of each row."""
        xp = array_namespace(values)
        return xp.max(self.scatter(values, -xp.inf), axis=1)

    @property
    def total_weight(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.host.total_weight

    @cached_property
    def pair_weights(self) -> Any:
        """How much the row of each pair counts, one entry per pair; the number 1.0 if alike."""
        weights = self.host.pair_weights
        return weights if isinstance(weights, float) else to_like(weights, self.like)

    def uniform(self) -> Any:
        """Equal confidence for every candidate, one entry per pair."""
        return to_like(self.host.uniform(), self.like)

    @cached_property
    def relative_weights(self) -> Any:
        """Weight of every candidate over the largest in its row: one where all are alike."""
        return to_like(self.host.relative_weights, self.like)

    def prior(self) -> Any:
        """Share of every candidate in the weights of its row; sums to one."""
        return to_like(self.host.prior(), self.like)


def take_classes(classes: Any, columns: Any) -> Any:
    """Labels of the given columns: on their device if they are numbers, else NumPy's."""
    moved = to_like(to_numpy(classes), columns)
    if is_numpy_array(moved):
        return moved[to_numpy(columns)]
    return array_namespace(columns).take(moved, columns)


def _places(flat: Any, shape: tuple[int, int]) -> Any:
    """Pair that stands at each place of a matrix, row by row; their number where none does."""
    xp = array_namespace(flat)
    every = xp.arange(shape[0] * shape[1], device=device(flat))
    found = xp.searchsorted(flat, every)
    last = flat.shape[0] - 1
    near = xp.where(found > last, last, found)
    return xp.where(xp.take(flat, near) == every, near, flat.shape[0])
