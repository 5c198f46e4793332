"""Results with one row per training row: dask arrays in the input order of the rows."""

from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from numpy.typing import NDArray
from scipy import sparse

from ambilearn.backend import HOST
from ambilearn.candidates import CandidateSets
from ambilearn.distributed.blocks import RowBlocks, persist_now


class RowResults:
    """Confidences of the training rows, stored on the workers, with one entry per candidate.

    ``blocks`` has the CSR matrices P and Q of each block of rows, which store only the candidates.
    """

    def __init__(self, blocks: list[Delayed], data: RowBlocks) -> None:
        self._classes, self._sparse = data.classes, data.sparse_mask
        shapes = [(int(length), len(data.classes)) for length in np.diff(data.starts)]
        matrices = []
        for which in (0, 1):
            parts = [
                da.from_delayed(delayed(_pick)(block, which), shape, meta=_EMPTY)
                for block, shape in zip(blocks, shapes, strict=True)
            ]
            matrices.append(da.concatenate(parts))
        # Unlike delayed objects, arrays keep references to their inputs.
        self._matrices: tuple[da.Array, ...] = persist_now(matrices)

    def distributions(self, which: int, off_support: float = 0.0) -> da.Array:
        """P (0) or Q (1) of shape (n, l): sparse for a sparse mask, else dense."""
        matrix = self._matrices[which]
        if self._sparse:
            return matrix
        dense: da.Array = da.map_blocks(_dense, matrix, off_support, meta=np.empty((0, 0)))
        return dense

    def transduction(self) -> da.Array:
        """Candidate with the largest confidence in every row, shape (n,)."""
        best: da.Array = da.map_blocks(
            _best, self._matrices[0], self._classes, drop_axis=1, meta=self._classes[:0]
        )
        return best


_EMPTY = sparse.csr_array((0, 0))


def _pick(block: tuple[Any, ...], which: int) -> sparse.csr_array:
    return block[which]


def _dense(matrix: sparse.csr_array, off_support: float) -> NDArray[np.float64]:
    sets = CandidateSets(np.arange(matrix.shape[1]), matrix.indptr, matrix.indices)
    return HOST.support(sets).scatter(matrix.data, off_support)


def _best(P: sparse.csr_array, classes: NDArray[Any]) -> NDArray[Any]:
    if not P.shape[0]:
        return classes[:0]
    sets = CandidateSets(classes, P.indptr, P.indices)
    return classes[HOST.support(sets).best_labels(P.data)]
