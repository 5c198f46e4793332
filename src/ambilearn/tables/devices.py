"""Fit and predict on a device, with tables and models in host memory.

The rows are copied to the device and the results are copied back. A model that was fitted on a
device is the same as any other model, and any model can predict on a device.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ambilearn._utils.types import AnyCandidates, Estimator, Matrix
from ambilearn.backend.arrays import to_numpy
from ambilearn.backend.device_arrays import computing_on


@contextmanager
def device_rows(X: Matrix, device: str | None) -> Iterator[Any]:
    """Context with the rows on a PyTorch device; the unchanged rows if ``device`` is None."""
    if device is None:
        yield X
        return
    with computing_on(device) as move:
        yield move(_dense(X))


def fit_on_device(
    estimator: Estimator, X: Matrix, candidates: AnyCandidates, device: str | None
) -> None:
    """Fit an estimator on a device and copy what it learned to host memory."""
    if device is not None and "device" in estimator.get_params(deep=False):
        own = estimator.device
        estimator.set_params(device=device).fit(X, candidates)
        estimator.set_params(device=own)  # a model is also used on other machines
        return
    with device_rows(X, device) as rows:
        estimator.fit(rows, candidates)
    if device is not None:
        estimator.__dict__.update(_learned(estimator, to_numpy))
        estimator.classes_ = candidates.classes


def predict_proba_on_device(estimator: Estimator, X: Matrix, device: str | None) -> Any:
    """Confidences of new rows by a fitted estimator, computed on a device."""
    estimator, device = with_own_device(estimator, device)
    if device is None:
        return estimator.predict_proba(X)
    with computing_on(device) as move:
        on_device = _to_device(estimator, move)
        return to_numpy(on_device.predict_proba(move(_dense(X))))


def with_own_device(estimator: Estimator, device: str | None) -> tuple[Any, str | None]:
    """The estimator, and the device to which its rows must be copied.

    A method with a parameter ``device`` copies the rows itself: its copy has this device.
    """
    if device is None or "device" not in estimator.get_params(deep=False):
        return estimator, device
    return copy(estimator).set_params(device=device), None


def _learned(estimator: Estimator, move: Callable[[Any], Any]) -> dict[str, Any]:
    """Fitted attributes of an estimator, without its parameters, with the arrays moved."""
    learned = {k: v for k, v in vars(estimator).items() if k.endswith("_") or k.startswith("_")}
    if move is not to_numpy:
        learned.pop("graph_", None)  # not needed, and n_rows x n_rows if dense
    return {name: _to_device(value, move) for name, value in learned.items()}


def _to_device(value: Any, move: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):  # members of an ensemble, or their names
        return [_to_device(each, move) for each in value]
    if isinstance(value, BaseEstimator):
        moved = copy(value)
        vars(moved).update(_learned(value, move))
        return moved
    from ambilearn.backend.device.graph import DeviceGraph  # most commands use no device
    from ambilearn.graph.neighbors import NeighborSearch

    if isinstance(value, DeviceGraph):
        return value.to_csr()
    if isinstance(value, NeighborSearch):
        return value.to_device(move)
    if sparse.issparse(value):
        return value if move is to_numpy else move(value.toarray())
    if isinstance(value, np.ndarray):
        return move(value) if value.dtype.kind in "biuf" else value
    return to_numpy(value)


def _dense(X: Matrix) -> Any:
    if sparse.issparse(X):
        raise ValueError(
            "The features are sparse, which is not supported on a device. Leave out --device, or "
            "exclude the columns that make them sparse, such as text with many words."
        )
    return np.asarray(X, dtype=np.float64)
