"""Checks of rows and of their weights, for methods, searches and scores."""

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from ambilearn._utils.array_checks import as_numbers, check_feature_types, check_structure
from ambilearn._utils.damaged_inputs import canonical_rows, explain_unreadable
from ambilearn._utils.sklearn_compat import _check_sample_weight, _num_samples
from ambilearn._utils.types import Matrix
from ambilearn.backend import HOST, Backend
from ambilearn.backend.arrays import to_numpy

# Squares of larger numbers, and products of a few of them, leave the range of floating point.
_MAX_MAGNITUDE = 1e75


def check_magnitude(X: Matrix, backend: Backend = HOST) -> None:
    """Raise an error for features whose squares overflow or underflow."""
    largest = backend.largest_magnitude(X)
    if largest > _MAX_MAGNITUDE or 0 < largest < 1 / _MAX_MAGNITUDE:
        i, j = (int(place[0]) for place in (abs(to_numpy(X)) == largest).nonzero())
        raise ValueError(
            f"The largest entry of X is {largest:.0e} (row {i}, column {j}): the squares of such "
            "numbers are outside the range of floating-point numbers. Scale the features, for "
            "instance with sklearn.preprocessing.StandardScaler."
        )


def validate_rows(estimator: BaseEstimator, X: Matrix, **options: Any) -> Any:
    """Rows of a user in host memory as float64 array or ``csr_array``, checked.

    The tags of the estimator determine whether they may be sparse. Options are those of
    :func:`sklearn.utils.validation.validate_data`.
    """
    check_structure(X, "X")
    X = canonical_rows(X) if issparse(X) else X
    check_feature_types(X)
    accept_sparse = "csr" if get_tags(estimator).input_tags.sparse else False
    try:
        X = validate_data(estimator, X, accept_sparse=accept_sparse, dtype=np.float64, **options)
    except (TypeError, ValueError, OverflowError) as error:
        explain_unreadable(X, error)
        raise
    check_magnitude(X)
    # Of a csr_matrix, `*` would be the matrix product.
    return csr_array(X) if issparse(X) else X


def check_row_weights(
    sample_weight: ArrayLike | None, X: Matrix, row_weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64] | None:
    """Weights of the rows, all positive; None if all are equal.

    ``sample_weight``, from the user, must be finite and not negative; ``row_weights`` of the
    candidate sets are multiplied by it. Zeros are replaced by a trillionth of the mean weight, so
    that every formula holds.
    """
    given = [each for each in (sample_weight, row_weights) if each is not None]
    if not given:
        return None
    weights: NDArray[np.float64] = np.prod([check_weights(each, X) for each in given], axis=0)
    if np.all(weights == 1):
        return None
    if weights.max() > _MAX_MAGNITUDE or weights.mean() < 1 / _MAX_MAGNITUDE:
        raise ValueError(
            f"The largest entry of sample_weight is {weights.max():.0e}, which leaves the range of "
            "floating point in sums and products: divide the weights by their mean."
        )
    return np.maximum(weights, 1e-12 * weights.mean())


def check_weights(sample_weight: Any, X: Matrix) -> NDArray[np.float64]:
    """Weights of the rows as numbers, finite, not negative and not all zero."""
    check_structure(sample_weight, "sample_weight")
    if not isinstance(sample_weight, Number):
        sample_weight = as_numbers(to_numpy(sample_weight), "sample_weight")
    X = np.empty((_num_samples(X), 0))  # only its length matters, on any device
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, X, dtype=np.float64, copy=True, ensure_non_negative=True
    )
    if not weights.any():  # older releases of scikit-learn do not look
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights
