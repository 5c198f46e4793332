"""Definition of missing values, for labels, cells and tables."""

from decimal import Decimal
from numbers import Number

import numpy as np

# Table cells with exactly one of these texts are missing.
MISSING_WORDS = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?"}
)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT, pandas.NA or masked. Strings are never missing.

    Other objects, such as lists and arrays, are never missing.

    >>> import numpy as np
    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"))]
    [True, True, True]
    >>> [is_missing(value) for value in (0, "", "nan", [None])]
    [False, False, False, False]
    """
    if isinstance(value, str):
        return False
    # By name, because pandas is optional and slow to import.
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):  # comparing a signaling NaN raises
        return value.is_nan()
    # Only NaN and NaT differ from themselves.
    return isinstance(value, (Number, np.datetime64, np.timedelta64)) and bool(value != value)
