"""What counts as a missing value, in labels, cells and tables alike."""

from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np

# Text that is nothing but one of these is a missing cell of a table.
MISSING_WORDS = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?"}
)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, pandas.NA or masked. Text never is, not even if empty.

    Parameters
    ----------
    value : Any
        A label or a cell; anything else, a list or an array for instance, is not missing.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn._utils.missing import is_missing
    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"))]
    [True, True, True]
    >>> [is_missing(value) for value in (0, "", "nan", [None])]
    [False, False, False, False]
    """
    if isinstance(value, str):
        return False
    # By name: pandas need not be there, and is slow to import.
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):  # whose signalling NaN cannot even be compared
        return value.is_nan()
    # Nothing but NaN and NaT differs from itself.
    return isinstance(value, (Number, np.datetime64, np.timedelta64)) and bool(value != value)
