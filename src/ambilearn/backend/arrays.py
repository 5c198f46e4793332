"""Arrays of NumPy and of other libraries (PyTorch, CuPy); nothing here imports those."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import sklearn
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_array_api_strict_namespace,
    is_cupy_array,
    is_cupy_namespace,
    is_numpy_array,
    is_torch_array,
    is_torch_namespace,
)
from scipy import sparse

from ambilearn._utils.types import Array, Matrix

DISPATCH_HINT = (
    "turn on scikit-learn's dispatch: set SCIPY_ARRAY_API=1 in the environment before Python "
    "starts, and call inside `with sklearn.config_context(array_api_dispatch=True):`"
)

_NO_WEIGHT = 1e-11  # rows below this share of the largest weight have weight zero


def on_device(X: Any) -> bool:
    """Whether X is an array of another library than NumPy and scikit-learn dispatches on it.

    Without dispatch it is treated as an ordinary array-like, which must be in host memory; raises
    ValueError if it is not, or if its library is not supported.
    """
    if not is_device_array(X):
        return False
    if not sklearn.get_config()["array_api_dispatch"]:
        if (is_torch_array(X) or is_cupy_array(X)) and str(device(X)) != "cpu":
            raise ValueError(
                f"X is on the device {device(X)}: to compute there, {DISPATCH_HINT}; or move it "
                "to the CPU first."
            )
        return False
    xp = array_namespace(X)
    supported = is_torch_namespace, is_cupy_namespace, is_array_api_strict_namespace
    if not any(is_namespace(xp) for is_namespace in supported):
        raise ValueError(
            f"Arrays of {type(X).__module__.partition('.')[0]} are not supported with "
            "array_api_dispatch: pass a PyTorch tensor, a CuPy array or a NumPy array."
        )
    return True


def to_numpy(array: Any) -> Array:
    """Copy an array of another library to host memory; anything else is returned unchanged."""
    if is_torch_array(array):
        return array.detach().cpu().numpy()
    if is_cupy_array(array):
        return array.get()
    if is_array_api_obj(array) and is_array_api_strict_namespace(array_namespace(array)):
        cpu = array_namespace(array).Device("CPU_DEVICE")
        return np.asarray(array.to_device(cpu))
    return array


def to_device_of(array: Array, like: Array) -> Array:
    """Copy a NumPy array to the library and device of ``like``; text stays a NumPy array."""
    if array.dtype.kind not in "biuf":
        return array
    xp = array_namespace(like)
    if is_torch_namespace(xp) and not array.flags.writeable:
        array = array.copy()  # PyTorch warns about read-only arrays
    return xp.asarray(array, device=device(like))


def is_device_array(X: object) -> bool:
    """Whether X is an array of another library than NumPy."""
    return is_array_api_obj(X) and not is_numpy_array(X)


def is_host_array(X: object) -> bool:
    """Whether X is a NumPy array or a SciPy sparse matrix."""
    return is_numpy_array(X) or sparse.issparse(X)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an array could not be allocated, in host memory or on a device."""
    # PyTorch raises its own error for a GPU, and a RuntimeError for the CPU.
    of_torch = type(error).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and of_torch)


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


def weighted_mean_distance(squared: Array, row_weights: Array, blocks: Iterable[slice]) -> float:
    """Mean of the off-diagonal distances, given their squares in blocks of rows; 1 if all are zero.

    A row of weight *v* counts as *v* copies.
    """
    xp = array_namespace(squared)
    weights = row_weights / xp.max(row_weights)  # so that no product overflows
    weights = xp.where(weights < _NO_WEIGHT, 0.0, weights)
    total = 0.0
    for rows in blocks:
        total += float(xp.sum(weights[rows] * (xp.sqrt(squared[rows, ...]) @ weights)))
    # Pairs of all copies of all rows, without pairs of a copy with itself.
    itself = xp.where(row_weights < 1, row_weights, 1.0) / xp.max(row_weights)
    n_pairs = float(xp.sum(weights)) ** 2 - float(xp.sum(weights * itself))
    return total / n_pairs if total > 0 else 1.0
