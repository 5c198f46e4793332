"""Results for rows as dask arrays: confidences of the training rows, predictions, scores."""

from operator import getitem

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from ambilearn._utils.types import AnyCandidates, Array, Matrix, Params
from ambilearn.backend import HOST
from ambilearn.candidates import CandidateSets
from ambilearn.distributed.blocks import RowBlocks, delayed_blocks, persist_now
from ambilearn.methods.plcl import PLCL


def predict_blocks(model: PLCL, method: str, X: Matrix, meta: Array) -> da.Array:
    """Apply a method of a fitted local model to every block of rows, lazily.

    ``meta`` is an empty result with the dtype and number of dimensions of the results.
    """
    if isinstance(X, da.Array):
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
    else:
        # Feature names are checked once here; the blocks have none.
        validate_data(model, X._meta, reset=False, skip_check_array=True)
        X = X.to_dask_array()
    model.__dict__.pop("feature_names_in_", None)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model was fitted with {model.n_features_in_}."
        )
    shape: Params = {"drop_axis": 1}
    if meta.ndim == 2:
        shape = {"chunks": (X.chunks[0], len(model.classes_))}
    return X.map_blocks(_apply, model, method, meta=meta, **shape)


def _apply(block: Matrix, model: PLCL, method: str) -> Array:
    rows = block if block.shape[0] else np.zeros((1, block.shape[1]))  # methods require a row
    predicted: Array = getattr(model, method)(rows)
    return predicted[: block.shape[0]]


def score_blocks(
    model: PLCL, X: Matrix, y: AnyCandidates, sample_weight: Matrix | None = None
) -> float:
    """Weighted mean of the scores of a local model on the blocks, the same in all arguments."""
    collections = [X, y] if sample_weight is None else [X, y, sample_weight]
    blocks = [delayed_blocks(collection) for collection in collections]
    if len({len(each) for each in blocks}) > 1:
        found = ", ".join(str(len(each)) for each in blocks)
        raise ValueError(
            f"X, y and sample_weight must have the same blocks; they have {found} blocks. Rechunk "
            "or repartition y and sample_weight like X."
        )
    model = delayed(model, traverse=False)
    parts = dask.compute(*(delayed(_score)(model, *each) for each in zip(*blocks, strict=True)))
    right, weight = np.sum(parts, axis=0)
    if not weight:
        what = "X has no rows" if sample_weight is None else "All entries of sample_weight are zero"
        raise ValueError(f"{what}: there is nothing to score.")
    return float(right / weight)


def _score(
    model: PLCL, X: Matrix, y: AnyCandidates, weights: Matrix | None = None
) -> tuple[float, float]:
    if not X.shape[0]:
        return 0.0, 0.0
    weight = float(X.shape[0] if weights is None else np.sum(weights))
    if weights is not None and len(weights) == X.shape[0] and not np.any(weights):
        return 0.0, 0.0
    return model.score(X, y, weights) * weight, weight


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
                da.from_delayed(delayed(getitem)(block, which), shape, meta=_EMPTY)
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
        return da.map_blocks(_dense, matrix, off_support, meta=np.empty((0, 0)))

    def transduction(self) -> da.Array:
        """Candidate with the largest confidence in every row, shape (n,)."""
        return da.map_blocks(
            _best, self._matrices[0], self._classes, drop_axis=1, meta=self._classes[:0]
        )


_EMPTY = sparse.csr_array((0, 0))


def _dense(matrix: sparse.csr_array, off_support: float) -> NDArray[np.float64]:
    sets = CandidateSets(np.arange(matrix.shape[1]), matrix.indptr, matrix.indices)
    return HOST.support(sets).scatter(matrix.data, off_support)


def _best(P: sparse.csr_array, classes: Array) -> Array:
    if not P.shape[0]:
        return classes[:0]
    sets = CandidateSets(classes, P.indptr, P.indices)
    return classes[HOST.support(sets).best_labels(P.data)]
