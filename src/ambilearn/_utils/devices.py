"""Arrays of other libraries on their devices: which are taken, and what is wrong with the rest.

By scikit-learn's convention they are taken only where ``array_api_dispatch`` is on. Nothing here
imports such a library: an array brings its own.
"""

from collections.abc import Iterator
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
    is_numpy_array,
    is_torch_array,
    is_torch_namespace,
)
from numpy.typing import NDArray

DISPATCH_HINT = (
    "turn on scikit-learn's dispatch: set SCIPY_ARRAY_API=1 in the environment before Python "
    "starts, and call within `with sklearn.config_context(array_api_dispatch=True):`"
)


def on_device(X: Any) -> bool:
    """Whether X is an array of another library than NumPy, and scikit-learn dispatches on it.

    Without dispatch it is an array-like as any other, which has to be in the processor's memory.

    Raises
    ------
    ValueError
        If the array is on a device and dispatch is off, or its library is not known.
    """
    if is_numpy_array(X) or not is_array_api_obj(X):
        return False
    if not sklearn.get_config()["array_api_dispatch"]:
        if (is_torch_array(X) or is_cupy_array(X)) and str(device(X)) != "cpu":
            raise ValueError(
                f"X is on the device {device(X)}: to compute there, {DISPATCH_HINT}; or move it "
                "to the CPU first."
            )
        return False
    xp = array_namespace(X)
    known = is_torch_namespace, is_cupy_namespace, is_array_api_strict_namespace
    if not any(is_it(xp) for is_it in known):
        raise ValueError(
            f"Arrays of {type(X).__module__.partition('.')[0]} are not supported with "
            "array_api_dispatch: pass a PyTorch tensor, a CuPy array or a NumPy array."
        )
    return True


def check_array(X: Any) -> Any:
    """Rows on a device as float64, checked; the same array where nothing has to change.

    Parameters
    ----------
    X : array of another library than NumPy
        Rows.

    Returns
    -------
    X : float64 array of shape (n, d)

    Raises
    ------
    TypeError
        If the entries are neither float64 nor float32.
    ValueError
        If X is not two-dimensional, needs a gradient, or holds NaN or infinity.
    """
    xp = array_namespace(X)
    if getattr(X, "requires_grad", False):
        raise ValueError("X needs a gradient, and a fit has none to give: pass X.detach().")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must have the shape (rows, "
            "features). Reshape it, for instance by X.reshape(-1, 1) for one feature."
        )
    if X.dtype not in (xp.float64, xp.float32):
        raise TypeError(
            f"X has entries of type {X.dtype}; on a device float64 is needed, or float32, which "
            "is computed with in float64. Convert it, for instance by X.double() in PyTorch."
        )
    finite = xp.isfinite(X)
    if not bool(xp.all(finite)):
        row = int(xp.argmax(xp.astype(~xp.all(finite, axis=1), xp.int64)))
        raise ValueError(
            f"Input X contains NaN or infinity, first in row {row}. Impute or drop such rows "
            "before, for instance by sklearn.impute.SimpleImputer on the CPU."
        )
    return X if X.dtype == xp.float64 else xp.astype(X, xp.float64)


def to_numpy(array: Any) -> NDArray[Any]:
    """A copy of an array in the processor's memory; what is no array of a library comes back."""
    moved: NDArray[Any] = array
    if is_torch_array(array):
        moved = array.detach().cpu().numpy()
    elif is_cupy_array(array):
        moved = array.get()
    elif is_array_api_obj(array) and is_array_api_strict_namespace(array_namespace(array)):
        host = array_namespace(array).Device("CPU_DEVICE")
        moved = np.asarray(array.to_device(host))
    return moved


def to_like(array: Any, like: Any) -> Any:
    """A NumPy array as one of the library and on the device of another; texts stay NumPy's."""
    if array.dtype.kind not in "biuf":
        return array
    xp = array_namespace(like)
    if is_torch_namespace(xp) and not array.flags.writeable:
        array = array.copy()  # which PyTorch would warn of
    return xp.asarray(array, device=device(like))


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of an array or sparse matrix by their numbers, where it is."""
    if is_array_api_obj(X) and not is_numpy_array(X):
        return array_namespace(X).take(X, to_like(rows, X), axis=0)
    return X[rows]


def same_place(array: Any, like: Any) -> bool:
    """Whether two arrays are of one library and on one device."""
    if not (is_array_api_obj(array) and is_array_api_obj(like)):
        return False
    return array_namespace(array) is array_namespace(like) and device(array) == device(like)


def place_of(array: Any) -> str:
    """Library and device of an array, for a message."""
    if is_numpy_array(array) or not is_array_api_obj(array):
        return "NumPy"
    return f"{type(array).__module__.partition('.')[0]} on {device(array)}"


def free_memory(array: Any) -> float:
    """Bytes that can still be allocated where an array is; infinite where nobody tells."""
    if is_torch_array(array) and array.device.type == "cuda":
        import torch

        free, _ = torch.cuda.mem_get_info(array.device)
        cached = torch.cuda.memory_reserved(array.device)
        return float(free + cached - torch.cuda.memory_allocated(array.device))
    if is_cupy_array(array):
        import cupy

        with array.device:
            free, _ = cupy.cuda.runtime.memGetInfo()
            return float(free + cupy.get_default_memory_pool().free_bytes())
    return float("inf")


@contextmanager
def computing_on(name: str) -> Iterator[Any]:
    """A context that dispatches; gives a function that moves a NumPy array to a PyTorch device.

    Parameters
    ----------
    name : str
        The device, such as ``"cuda"`` or ``"cpu"``.
    """
    import os

    from ambilearn._utils.optional import requires_extra

    with requires_extra("torch", purpose="A device"):
        import torch
    try:
        where = torch.device(name)
        torch.empty(0, device=where)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"There is no device {name!r} here: {str(error).splitlines()[0]} PyTorch "
            f"{torch.__version__} knows 'cpu'"
            + (", 'cuda'." if torch.cuda.is_available() else " alone.")
        ) from error
    before = os.environ.get("SCIPY_ARRAY_API")
    os.environ["SCIPY_ARRAY_API"] = "1"  # which scikit-learn asks for
    try:
        with sklearn.config_context(array_api_dispatch=True):
            yield lambda array: torch.asarray(array, device=where)
    finally:
        if before is None:
            del os.environ["SCIPY_ARRAY_API"]
        else:
            os.environ["SCIPY_ARRAY_API"] = before
