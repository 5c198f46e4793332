"""Checks of features, scores and weights: structure, types, and what is not a number."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array
from numpy.typing import NDArray
from scipy.sparse import issparse

from ambilearn._utils.damaged_inputs import check_not_masked, check_sparse
from ambilearn._utils.types import Matrix


def is_device_array(X: object) -> bool:
    """Whether X is an array of another library than NumPy."""
    return is_array_api_obj(X) and not is_numpy_array(X)


def check_structure(values: Matrix, name: str) -> None:
    """Raise if a sparse matrix is inconsistent or an array has masked entries.

    Every input that can be sparse or masked is checked here before it is used. Anything neither
    sparse nor masked is valid. ``name`` is the name in error messages, such as ``"X"``.

    >>> from scipy import sparse
    >>> X = sparse.eye_array(3, format="csr")
    >>> check_structure(X, "X")
    >>> X.indices[1] = 7
    >>> check_structure(X, "X")
    Traceback (most recent call last):
    ...
    ValueError: X is a damaged sparse matrix (csr): indices must be < 3. ...
    """
    if issparse(values):
        check_sparse(values, name)
    elif isinstance(values, np.ma.MaskedArray):
        check_not_masked(np.ma.getmaskarray(values), name)
    elif isinstance(values, (list, tuple)):
        for i, row in enumerate(values):
            if isinstance(row, np.ma.MaskedArray) and row is not np.ma.masked:  # a missing value
                check_not_masked(np.ma.getmaskarray(row), f"Row {i} of {name}")


def column_names(table: Any) -> list[Any] | None:
    """Names of the columns of a table of pandas, polars or pyarrow; None if it has no names."""
    # The columns of a pyarrow table are arrays. The class is checked, because a table of pandas has
    # its columns as attributes, and one of them may have this name.
    is_pyarrow = hasattr(type(table), "column_names")
    names = getattr(table, "column_names" if is_pyarrow else "columns", None)
    return None if names is None else list(names)


def check_feature_types(X: Matrix) -> None:
    """Raise if features are times, records or mappings.

    Converted to numbers, times would be nanoseconds and NaT would be -9e18.

    >>> import numpy as np
    >>> check_feature_types(np.array([[1, 2]]))
    >>> check_feature_types(np.array([["2024-02-29"]], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ...
    ValueError: X contains times (datetime64[D]), which are not numbers: ...
    """
    types: Any = getattr(X, "dtypes", getattr(X, "dtype", None))
    records = isinstance(types, np.dtype) and types.names is not None
    if (isinstance(X, Mapping) and not issparse(X)) or records:  # dok_array is a mapping, too
        raise TypeError(
            f"X is {'an array of records' if records else 'a mapping'}: pass a data "
            "frame or an array of numbers, with a row per example and a column per feature."
        )
    for dtype in types if hasattr(types, "__iter__") else [types]:
        if re.search("date|time|duration", str(dtype), re.IGNORECASE):
            raise ValueError(
                f"X contains times ({dtype}), which are not numbers: convert them, for instance to "
                "days with (times - start) / numpy.timedelta64(1, 'D')."
            )


def as_numbers(values: Matrix, name: str) -> NDArray[np.float64]:
    """Scores or weights from the user as a float64 array; ``name`` is their name in error messages.

    >>> as_numbers([1, "many"], "sample_weight")
    Traceback (most recent call last):
    ...
    ValueError: sample_weight must be numbers (could not convert string to float: 'many').
    """
    try:
        if np.asarray(values).dtype.kind in "cMm":
            raise TypeError(f"not {np.asarray(values).dtype}")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numbers ({error}).") from error
