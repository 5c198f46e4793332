"""Backends of a fit: NumPy and SciPy on the CPU, or the array API on a device.

The library and device of the input choose the backend once, at the start of a fit or a prediction
(:func:`choose_backend`). Everything after that calls the interface of the backend
(:mod:`ambilearn.backend.interface`) and does not check types again.
"""

import sys

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.array_checks import is_device_array
from ambilearn._utils.sklearn_compat import _safe_indexing
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.host import HOST
from ambilearn.backend.host.support import HostSupport
from ambilearn.backend.interface import Backend
from ambilearn.backend.support import Support

__all__ = ["HOST", "Backend", "HostSupport", "Support", "choose_backend", "index_rows"]


def choose_backend(X: Matrix) -> Backend:
    """Backend for the library and device of validated rows."""
    if not is_device_array(X):
        return HOST
    from ambilearn.backend.device import DeviceBackend

    return DeviceBackend(X)


def index_rows(X: Matrix, rows: NDArray[np.intp]) -> Array:
    """Rows by index, in the type of X.

    X is an array of any library, a data frame, a list, a sparse matrix or a PyTorch dataset.
    """
    data = sys.modules.get("torch.utils.data")
    if data is not None and isinstance(X, data.Dataset):
        return data.Subset(X, rows.tolist())
    return choose_backend(X).take_rows(X, rows) if is_device_array(X) else _safe_indexing(X, rows)
