"""Features, scores and weights that are no numbers, and what to say of them."""

import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


def check_feature_types(X: Any) -> None:
    """Refuse features that are times, which would count nanoseconds and NaT as -9e18, or records.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix
        Rows as a user gives them.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn._utils.feature_types import check_feature_types
    >>> check_feature_types(np.array([[1, 2]]))
    >>> check_feature_types(np.array([["2024-02-29"]], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ...
    ValueError: X holds times (datetime64[D]), which are no features yet: ...
    """
    types: Any = getattr(X, "dtypes", getattr(X, "dtype", None))
    records = isinstance(types, np.dtype) and types.names is not None
    if (isinstance(X, Mapping) and not issparse(X)) or records:  # SciPy's dok is one, too
        raise TypeError(
            f"X is {'an array of records' if records else 'a mapping'}: pass a data "
            "frame or an array of numbers, a row for each example and a column for each feature."
        )
    for dtype in types if hasattr(types, "__iter__") else [types]:
        if re.search("date|time|duration", str(dtype), re.IGNORECASE):
            raise ValueError(
                f"X holds times ({dtype}), which are no features yet: make numbers of them, for "
                "instance days by (times - start) / numpy.timedelta64(1, 'D')."
            )


def as_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Scores or weights as a float64 array.

    Parameters
    ----------
    values : array-like
        What a user gives.
    name : str
        What the user calls it.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If they are no numbers.

    Examples
    --------
    >>> from ambilearn._utils.feature_types import as_numbers
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


def explain_unreadable(X: Any, error: Exception) -> None:
    """Raise an error that says which row is no row of numbers; none if all of them are.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix
        Rows that were refused.
    error : Exception
        How they were refused; a TypeError remains one.

    Examples
    --------
    >>> from ambilearn._utils.feature_types import explain_unreadable
    >>> explain_unreadable([[1.0, 2.0], [3.0, "red"]], ValueError())
    Traceback (most recent call last):
    ...
    ValueError: Row 1 of X is no row of numbers (could not convert string to float: 'red'): ...
    """
    if issparse(X) or not _is_unreadable(X):
        return
    kind = TypeError if isinstance(error, TypeError) else ValueError
    sizes: list[int] = []
    for i, row in enumerate(np.atleast_1d(np.asarray(X, dtype=object))):
        try:
            sizes.append(np.asarray(row, dtype=np.float64).size)
        except (TypeError, ValueError, OverflowError) as cause:
            raise kind(
                f"Row {i} of X is no row of numbers ({cause}): leave such features out, or make "
                "numbers of them, for instance by sklearn.preprocessing.OneHotEncoder."
            ) from error
        if sizes[i] != sizes[0]:
            raise kind(
                f"Row {i} of X has {sizes[i]} features and row 0 has {sizes[0]}: give every row "
                "as many."
            ) from error


def _is_unreadable(X: Any) -> bool:
    """Whether NumPy makes no numbers of it; other things may be wrong, and others say so."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of complex numbers
            np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return True
    return False
