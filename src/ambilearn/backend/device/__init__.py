"""The backend for arrays on a device, through the array API standard.

Blocks are large, because each call has overhead; sparse products gather
(:mod:`ambilearn.solvers.gathered_products`); factors overwrite the kernel matrix.
"""

from collections.abc import Iterator

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.arrays import to_numpy
from ambilearn.backend.device import neighbors
from ambilearn.backend.device.graph import graph_of_neighbors, symmetric_graph
from ambilearn.backend.device.neighbors import DeviceSearch
from ambilearn.backend.device.support import DeviceSupport
from ambilearn.backend.device_arrays import device_blocks, to_device_of
from ambilearn.backend.interface import MIN_EIGENVALUE_RATIO, Backend, Factor
from ambilearn.candidates import CandidateSets
from ambilearn.solvers import factorize_by_blocks


class DeviceBackend(Backend):
    """Operations on the rows of a fit on the device of the array ``like``."""

    def __init__(self, like: Array) -> None:
        self._like = like[:0, ...]  # the library and the device, but none of the memory

    def support(self, sets: CandidateSets) -> DeviceSupport:
        return DeviceSupport(sets, self)

    def asarray(self, values: Array) -> Array:
        return to_device_of(values, self._like)

    def take_rows(self, X: Matrix, rows: NDArray[np.intp]) -> Array:
        return array_namespace(X).take(X, self.asarray(rows), axis=0)

    def take_classes(self, classes: Array, columns: Array) -> Array:
        classes = to_numpy(classes)
        if classes.dtype.kind not in "biuf":  # text
            return classes[to_numpy(columns)]
        return array_namespace(columns).take(self.asarray(classes), columns)

    def blocks(self, X: Matrix, numbers_per_row: int = 1) -> Iterator[slice]:
        return device_blocks(X.shape[0], numbers_per_row)

    def largest_magnitude(self, X: Matrix) -> float:
        xp = array_namespace(X)
        return max(float(xp.max(X)), -float(xp.min(X)), 0.0)

    def squared_distances(self, X: Matrix, Z: Matrix | None = None) -> Array:
        xp = array_namespace(X)
        own = Z is None or Z is X
        Z = X if Z is None else Z
        squared = xp.empty((X.shape[0], Z.shape[0]), dtype=X.dtype, device=device(X))
        # Centered, because the product below loses precision far from the origin.
        center = xp.mean(Z, axis=0)
        Z = Z - center
        X = Z if own else X - center
        x_norms, z_norms = xp.sum(X * X, axis=1)[:, None], xp.sum(Z * Z, axis=1)
        others = xp.matrix_transpose(Z)
        # The array API has no ``out=``: each large block is one expression, written into the only
        # matrix of its size.
        for rows in device_blocks(*squared.shape):
            block = xp.matmul(X[rows, :], others)
            block *= -2.0
            block += x_norms[rows, :]
            block += z_norms
            squared[rows, :] = xp.clip(block, min=0.0)
        if own:
            clear_diagonal(squared)
        return squared

    def as_kernel(self, K: Matrix) -> Array:
        return K

    def whitening(self, K: Matrix) -> Array:
        xp = array_namespace(K)
        values, vectors = xp.linalg.eigh((K + xp.matrix_transpose(K)) / 2)
        # Eigenvalues ascend: the last ones are kept.
        kept = int(xp.sum(xp.astype(values > MIN_EIGENVALUE_RATIO * values[-1], xp.int64)))
        first = K.shape[0] - kept
        return vectors[:, first:] / xp.sqrt(values[first:])

    def factorize(self, matrix: Matrix, ridge: float, overwrite: bool) -> Factor:
        return factorize_by_blocks(matrix, ridge, overwrite)

    unit_rows = staticmethod(neighbors.unit_rows)
    exact_search = staticmethod(DeviceSearch)
    neighbor_distances = staticmethod(neighbors.neighbor_distances)
    neighbor_products = staticmethod(neighbors.neighbor_products)
    difference_grams = staticmethod(neighbors.difference_grams)
    squared_residuals = staticmethod(neighbors.squared_residuals)
    count_votes = staticmethod(neighbors.count_votes)
    graph = staticmethod(graph_of_neighbors)
    symmetric_graph = staticmethod(symmetric_graph)

    def sum_of_forms(self, gram: Array, weights: Array) -> float:
        xp = array_namespace(gram)
        rebuilt = xp.matmul(gram, weights[:, :, None])[:, :, 0]
        return float(xp.sum(weights * rebuilt))


def clear_diagonal(matrix: Matrix) -> None:
    """Set the diagonal to zero, in place and by small blocks: the array API cannot access it."""
    xp, n = array_namespace(matrix), matrix.shape[0]
    step = min(1024, n)
    others = 1.0 - xp.eye(step, dtype=matrix.dtype, device=device(matrix))
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        size = rows.stop - first
        matrix[rows, rows] *= others[:size, :size]
