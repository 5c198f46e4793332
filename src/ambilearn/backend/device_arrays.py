"""Validate arrays from other libraries (PyTorch, CuPy) and explain why an array is rejected.

As everywhere in scikit-learn, such arrays are accepted only if ``array_api_dispatch`` is on.
Nothing here imports these libraries.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    is_torch_array,
    is_torch_namespace,
)
from sklearn.utils.validation import validate_data

from ambilearn._utils.array_checks import is_device_array
from ambilearn._utils.text import requires_extra
from ambilearn._utils.types import Array, Estimator, Matrix

DISPATCH_HINT = (
    "turn on scikit-learn's dispatch: set SCIPY_ARRAY_API=1 in the environment before Python "
    "starts, and call inside `with sklearn.config_context(array_api_dispatch=True):`"
)

ON_DEVICE = 2**27  # numbers held at once on a device, where each call has overhead: 1 GB


def device_blocks(n_rows: int, numbers_per_row: int = 1) -> Iterator[slice]:
    """Slices that cover all rows in order; work on one row holds ``numbers_per_row`` numbers."""
    step = max(1, ON_DEVICE // max(1, numbers_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def is_dispatched(X: Array) -> bool:
    """Whether scikit-learn dispatches on an array of another library than NumPy.

    Raises ValueError if it does not and the array is on a device, or does and does not support the
    library.
    """
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


def copy_to_host(array: Any) -> Array:
    """Copy an array of a supported library to host memory; any other is returned unchanged."""
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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an array could not be allocated, in host memory or on a device."""
    # PyTorch raises its own error for a GPU, and a RuntimeError for the CPU.
    of_torch = type(error).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and of_torch)


def check_device_array(X: Array) -> Array:
    """Validate rows on a device and convert them to float64; a float64 array is returned itself.

    Raises TypeError if the entries are neither float64 nor float32; raises ValueError if X is not
    two-dimensional, requires a gradient, or contains NaN or infinity.
    """
    xp = array_namespace(X)
    if getattr(X, "requires_grad", False):
        raise ValueError("X requires a gradient, which fit does not compute: pass X.detach().")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must have the shape (rows, "
            "features). Reshape it, for instance with X.reshape(-1, 1) for one feature."
        )
    if X.dtype not in (xp.float64, xp.float32):
        raise TypeError(
            f"X has dtype {X.dtype}, but a device array must be float64, or float32, which is "
            "converted to float64. Convert it, for instance with X.double() in PyTorch."
        )
    finite = xp.isfinite(X)
    if not bool(xp.all(finite)):
        row = int(xp.argmax(xp.astype(~xp.all(finite, axis=1), xp.int64)))
        raise ValueError(
            f"Input X contains NaN or infinity, first in row {row}. Impute or drop such rows "
            "first, for instance with sklearn.impute.SimpleImputer on the CPU."
        )
    return X if X.dtype == xp.float64 else xp.astype(X, xp.float64)


def validate_device_rows(
    estimator: Estimator,
    X: Array,
    *,
    reset: bool = True,
    copy: bool = False,
    ensure_min_samples: int = 1,
) -> Array:
    """Rows of a user on a device as float64 array, checked."""
    given, X = X, check_device_array(X)
    if copy and X is given:
        X = array_namespace(X).asarray(X, copy=True)
    if X.shape[0] < ensure_min_samples or X.shape[1] < 1:
        raise ValueError(
            f"Found array with shape {tuple(X.shape)} while a minimum of {ensure_min_samples} rows "
            f"and 1 feature is required by {type(estimator).__name__}."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X


def on_same_device(array: object, like: object) -> bool:
    """Whether two arrays belong to the same library and device."""
    if not (is_array_api_obj(array) and is_array_api_obj(like)):
        return False
    return array_namespace(array) is array_namespace(like) and device(array) == device(like)


def check_same_namespace(X: Any, fitted: Estimator, method: str) -> None:
    """Raise an error if X is on another device than ``fitted``, an array of the model.

    ``method`` is the method to which X was passed. The first words are those that scikit-learn's
    searches and checks look for.
    """
    on_device = is_device_array(X) and is_dispatched(X)
    if on_same_device(fitted, X) if on_device else not is_device_array(fitted):
        return
    dispatch = "" if sklearn.get_config()["array_api_dispatch"] else f" and {DISPATCH_HINT}"
    raise ValueError(
        f"X in {method}() must use the same namespace and device as in fit(): it is an array of "
        f"{describe_device(X)}, and the model was fitted to an array of {describe_device(fitted)}. "
        f"Move X to the device of the model{dispatch}; or fit again."
    )


def describe_device(array: object) -> str:
    """Library and device of an array, for error messages."""
    if not is_device_array(array):
        return "NumPy"
    return f"{type(array).__module__.partition('.')[0]} on {device(array)}"


def not_supported_on_device(what: str, X: Matrix) -> ValueError:
    """The error for an estimator that cannot compute on the device of X."""
    return ValueError(
        f"{what} does not support device arrays, and X is an array of {describe_device(X)}: pass a "
        "NumPy array, or use a method that supports them, such as PLCL."
    )


@contextmanager
def computing_on(name: str) -> Iterator[Callable[[Array], Array]]:
    """Turn on dispatch; yields a function that copies a NumPy array to the named PyTorch device."""
    with requires_extra("torch", purpose="A device"):
        import torch
    try:
        where = torch.device(name)
        torch.empty(0, device=where)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"Device {name!r} is not available: {str(error).splitlines()[0].rstrip('.')}. PyTorch "
            f"{torch.__version__} supports 'cpu'"
            + (" and 'cuda' here." if torch.cuda.is_available() else " only here.")
        ) from error
    before = os.environ.get("SCIPY_ARRAY_API")
    os.environ["SCIPY_ARRAY_API"] = "1"  # required by scikit-learn
    try:
        with sklearn.config_context(array_api_dispatch=True):
            yield lambda array: torch.asarray(array, device=where)
    finally:
        if before is None:
            del os.environ["SCIPY_ARRAY_API"]
        else:
            os.environ["SCIPY_ARRAY_API"] = before
