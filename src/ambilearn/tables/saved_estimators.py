"""Estimators in model files: fitted methods, and pipelines that end in one."""

import math
import warnings
from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ambilearn.base import PartialLabelClassifier
from ambilearn.tables.errors import InvalidModelError
from ambilearn.tables.model import made_by

KIND = "estimator"
_BYTES_PER_FEATURE = 8
_BYTES_PER_PIXEL = 64  # in the layers of a network
FORM = {
    "kind": str,
    "ambilearn": str,
    "scikit-learn": str,
    "method": str,
    "labels": [object],
    "*": object,
}


def describe_estimator(model: Any) -> dict[str, Any]:
    """Description of a fitted method or pipeline, for ``about.json``.

    Raises TypeError if it is neither a method of this library nor a pipeline that ends in one.
    """
    method = _method_of(model)
    if method is None:
        best = hasattr(model, "best_estimator_")
        advice = "Save its best_estimator_." if best else "Use skops or joblib for other models."
        raise TypeError(
            "save_model saves a TableModel, a fitted method of ambilearn such as PLCL, or a "
            f"pipeline that ends in one; got {type(model).__name__}. {advice}"
        )
    check_is_fitted(method)
    method._check_savable()
    return {
        "kind": KIND,
        **made_by(),
        "method": type(method).__name__,
        "labels": _plain_labels(method),
    }


def check_estimator(model: Any, about: dict[str, Any], max_bytes: int) -> None:
    """Raise if a loaded estimator is not the one described in ``about``, or cannot predict.

    It is tried on a row that may take ``max_bytes``.
    """
    method = _method_of(model)
    if method is None or method.classes_.tolist() != about["labels"]:
        raise InvalidModelError("the estimator is not the one that about.json describes.")
    try_out(method, max_bytes)


def try_out(method: PartialLabelClassifier, max_bytes: int) -> None:
    """Label a row of zeros: if parts of a method do not match, loading fails."""
    shape = method._input_shape
    size = _BYTES_PER_FEATURE if len(shape) == 1 else _BYTES_PER_PIXEL
    if size * math.prod(shape) > max_bytes:
        raise InvalidModelError(
            f"has rows of shape {shape}, more than max_bytes={max_bytes} allows."
        )
    if "device" in method.get_params(deep=False):  # it may not be here, which is no damage
        method = copy(method).set_params(device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.predict_proba(np.zeros((1, *shape), method._input_type))


def _method_of(model: Any) -> PartialLabelClassifier | None:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return last if isinstance(last, PartialLabelClassifier) else None


def _plain_labels(method: PartialLabelClassifier) -> list[Any]:
    """The labels, if a text file can hold them."""
    if not isinstance(method.classes_, np.ndarray):
        raise TypeError(
            f"This {type(method).__name__} was fitted on a device: fit it to NumPy arrays to save "
            "it."
        )
    labels: list[Any] = method.classes_.tolist()
    for label in labels:
        if not isinstance(label, (str, int, float)):
            raise TypeError(
                f"The label {label!r} cannot be saved: labels of a saved model are texts, numbers "
                "or truth values."
            )
    return labels
