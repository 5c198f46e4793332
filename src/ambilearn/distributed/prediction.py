"""Blockwise prediction and scoring with a local model on every worker."""

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ambilearn.distributed.blocks import delayed_blocks


def predict_blocks(model: Any, method: str, X: Any, meta: NDArray[Any]) -> da.Array:
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
    vars(model).pop("feature_names_in_", None)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model was fitted with {model.n_features_in_}."
        )
    shape: dict[str, Any] = {"drop_axis": 1}
    if meta.ndim == 2:
        shape = {"chunks": (X.chunks[0], len(model.classes_))}
    predicted: da.Array = X.map_blocks(_apply, model, method, meta=meta, **shape)
    return predicted


def _apply(block: Any, model: Any, method: str) -> NDArray[Any]:
    rows = block if block.shape[0] else np.zeros((1, block.shape[1]))  # methods require a row
    predicted: NDArray[Any] = getattr(model, method)(rows)
    return predicted[: block.shape[0]]


def score_blocks(model: Any, X: Any, y: Any, sample_weight: Any | None = None) -> float:
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


def _score(model: Any, X: Any, y: Any, weights: Any | None = None) -> tuple[float, float]:
    if not X.shape[0]:
        return 0.0, 0.0
    weight = float(X.shape[0] if weights is None else np.sum(weights))
    if weights is not None and len(weights) == X.shape[0] and not np.any(weights):
        return 0.0, 0.0
    return model.score(X, y, weights) * weight, weight
