"""Arrays of NumPy and of other libraries (PyTorch, CuPy); nothing here imports those."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from scipy import sparse

from ambilearn._utils.types import Array, Matrix


def on_device(X: Any) -> bool:
    """Whether X is an array of another library than NumPy and scikit-learn dispatches on it.

    Without dispatch it is treated as an ordinary array-like, which must be in host memory; raises
    ValueError if it is not, or if its library is not supported.
    """
    if not is_device_array(X):
        return False
    from ambilearn.backend.device_arrays import is_dispatched

    return is_dispatched(X)


def to_numpy(array: Any) -> Array:
    """Copy an array of another library to host memory; anything else is returned unchanged."""
    if not is_device_array(array):
        return array
    from ambilearn.backend.device_arrays import copy_to_host

    return copy_to_host(array)


def is_device_array(X: object) -> bool:
    """Whether X is an array of another library than NumPy."""
    return is_array_api_obj(X) and not is_numpy_array(X)


def is_host_array(X: object) -> bool:
    """Whether X is a NumPy array or a SciPy sparse matrix."""
    return is_numpy_array(X) or sparse.issparse(X)


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
