"""Arrays of NumPy and of other libraries (PyTorch, CuPy); nothing here imports those."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from ambilearn._utils.array_checks import is_device_array
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.device_arrays import copy_to_host, is_dispatched


def on_device(X: Any) -> bool:
    """Whether X is an array of another library than NumPy and scikit-learn dispatches on it.

    Without dispatch it is treated as an ordinary array-like, which must be in host memory; raises
    ValueError if it is not, or if its library is not supported.
    """
    return is_device_array(X) and is_dispatched(X)


def to_numpy(array: Any) -> Array:
    """Copy an array of another library to host memory; anything else is returned unchanged."""
    return copy_to_host(array) if is_device_array(array) else array


def column_centers(X: Matrix) -> Array:
    """Means of the columns, shape (d,).

    Of a sparse matrix, the means of the stored entries, and zero for columns of which fewer than
    half of the entries are stored: the centered matrix stays sparse, and the zeros of such columns
    are far from any other center.
    """
    if not sparse.issparse(X):
        return array_namespace(X).mean(X, axis=0)
    counts = np.bincount(X.tocsr().indices, minlength=X.shape[1])
    sums = np.asarray(X.sum(axis=0)).ravel()
    return np.where(2 * counts >= X.shape[0], sums / np.maximum(counts, 1), 0.0)


def subtract_from_rows(X: Matrix, center: Array) -> Matrix:
    """Subtract a vector from each row; a sparse matrix stays sparse."""
    if not sparse.issparse(X):
        return X - center
    (columns,) = np.nonzero(center)
    if not columns.size:
        return X
    n = X.shape[0]
    ends = np.arange(n + 1) * columns.size
    parts = np.tile(center[columns], n), np.tile(columns, n), ends
    return (X - sparse.csr_array(parts, shape=X.shape)).tocsr()
