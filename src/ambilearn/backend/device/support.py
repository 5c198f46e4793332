"""Candidate pairs on a device.

Shares and weights are computed once in host memory and copied; everything that a fit computes in
every round is computed on the device. Dense matrices are filled by gathering: the pairs are sorted,
so each entry of the matrix finds its pair by a search.
"""

from functools import cached_property

from array_api_compat import array_namespace, device

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.device.graph import (
    DeviceGraph,
    DeviceSupportGraph,
    ShiftedIdentity,
    restricted_matrix,
)
from ambilearn.backend.device_arrays import device_blocks
from ambilearn.backend.support import Support
from ambilearn.solvers import CandidateSimplex
from ambilearn.solvers.gathered_products import GatheredMatrix, SparsePattern


class DeviceSupport(Support):
    """The candidate pairs of a fit on a device."""

    @cached_property
    def _flat(self) -> Array:
        """Position of each pair in a flattened (n_rows, n_labels) matrix, ascending."""
        return self.rows * self.n_labels + self.labels

    @cached_property
    def _places(self) -> Array:
        return _places(self._flat, (self.n_rows, self.n_labels))

    def _pairs(self, rows: slice) -> slice:
        indptr = self.sets.indptr
        return slice(int(indptr[rows.start]), int(indptr[rows.stop]))

    def gather(self, matrix: Matrix) -> Array:
        xp = array_namespace(matrix)
        return xp.take(xp.reshape(matrix, (-1,)), self._flat)

    def _gather_rows(self, matrix: Matrix, rows: slice) -> Array:
        """As :meth:`gather`, for a matrix of some rows."""
        xp = array_namespace(matrix)
        places = self._flat[self._pairs(rows)] - rows.start * self.n_labels
        return xp.take(xp.reshape(matrix, (-1,)), places)

    def scatter(self, values: Array, off_support: float | Array = 0.0) -> Array:
        return _fill(values, off_support, self._places, (self.n_rows, self.n_labels))

    def scatter_rows(self, values: Array, off_support: float | Array, rows: slice) -> Array:
        pairs = self._pairs(rows)
        shape = rows.stop - rows.start, self.n_labels
        places = _places(self._flat[pairs] - rows.start * self.n_labels, shape)
        return _fill(values[pairs], off_support, places, shape)

    def as_output(self, values: Array, off_support: float = 0.0) -> Array:
        return self.scatter(values, off_support)

    def vote_table(self, values: Array) -> Array:
        return self.scatter(values)

    def largest(self, values: Array) -> Array:
        xp = array_namespace(values)
        return xp.max(self.scatter(values, -xp.inf), axis=1)

    def best_labels(self, values: Array) -> Array:
        xp = array_namespace(values)
        return xp.argmax(self.scatter(values, -xp.inf), axis=1)

    def row_sums(self, values: Array) -> Array:
        return array_namespace(values).sum(self.scatter(values), axis=1)

    def label_sums(self, values: Array) -> Array:
        return array_namespace(values).sum(self.scatter(values), axis=0)

    @cached_property
    def simplex(self) -> CandidateSimplex:
        xp, where = array_namespace(self.rows), device(self.rows)
        pattern = SparsePattern(self.rows, xp.arange(self.n_pairs, device=where), self.n_rows)
        ones = xp.ones(self.rows.shape, dtype=xp.float64, device=where)
        return DeviceSimplex(self.indptr, pattern.matrix(ones))

    def target_sums(
        self, features: Matrix, values: Array, off_support: float | Array
    ) -> tuple[Array, Array]:
        # From dense blocks of targets: on a device a dense product is fastest.
        xp = array_namespace(features)
        m, l = features.shape[1], self.n_labels
        product = xp.zeros((m, l), dtype=values.dtype, device=device(values))
        total = xp.zeros((l,), dtype=values.dtype, device=device(values))
        for rows in device_blocks(self.n_rows, 4 * l):
            off = off_support if isinstance(off_support, int | float) else off_support[rows]
            targets = self.scatter_rows(values, off, rows)
            if self.row_weights is not None:
                targets = self.row_weights[rows][:, None] * targets
            product += xp.matmul(xp.matrix_transpose(features[rows, :]), targets)
            total += xp.sum(targets, axis=0)
        return product, total

    def pair_outputs(self, features: Matrix, coef: Array, intercept: Array) -> Array:
        xp = array_namespace(features)
        parts = [
            self._gather_rows(xp.matmul(features[rows, :], coef) + intercept, rows)
            for rows in device_blocks(self.n_rows, 4 * self.n_labels)
        ]
        return xp.concat(parts)

    def neighbor_graph(self, neighbor_indices: Array) -> DeviceSupportGraph:
        return DeviceSupportGraph(self.indptr, self.labels, neighbor_indices)

    def restrict(self, graph: DeviceGraph) -> GatheredMatrix:
        return restricted_matrix(graph, self.indptr, self.labels)

    def laplacian(self, graph: DeviceGraph) -> ShiftedIdentity:
        return ShiftedIdentity(self.restrict(graph))


class DeviceSimplex(CandidateSimplex):
    """The candidate simplices on a device, where ``members @ values`` sums the values of rows."""

    def __init__(self, indptr: Array, members: GatheredMatrix) -> None:
        super().__init__(indptr)
        self._members = members

    def _project(self, values: Array, positive: Array) -> Array:
        xp = array_namespace(values)
        shrinking = False
        while True:
            inside = xp.astype(positive, values.dtype)
            both = self._members @ xp.stack((inside * values, inside), axis=1)
            excess = values - xp.take((both[:, 0] - 1.0) / both[:, 1], self._row)
            found = excess >= 0
            if shrinking:  # after the first pass the set only shrinks, except for rounding
                found = found & positive
            if xp.all(found == positive):
                return xp.maximum(excess, xp.zeros_like(excess))
            positive, shrinking = found, True


def _fill(
    values: Array, off_support: float | Array, places: Array, shape: tuple[int, int]
) -> Array:
    xp = array_namespace(values)
    nothing = xp.zeros((1,), dtype=values.dtype, device=device(values))
    matrix = xp.reshape(xp.take(xp.concat([values, nothing]), places), shape)
    if getattr(off_support, "ndim", 0):
        off_support = xp.reshape(off_support, (-1, 1))
    elif off_support == 0:
        return matrix
    is_pair = xp.reshape(places < values.shape[0], shape)
    return xp.where(is_pair, matrix, off_support)


def _places(flat: Array, shape: tuple[int, int]) -> Array:
    """Pair at each entry of a matrix, row by row; the number of pairs where there is none."""
    xp = array_namespace(flat)
    every = xp.arange(shape[0] * shape[1], device=device(flat))
    found = xp.searchsorted(flat, every)
    last = flat.shape[0] - 1
    near = xp.where(found > last, last, found)
    return xp.where(xp.take(flat, near) == every, near, flat.shape[0])
