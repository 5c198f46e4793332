"""Labels: arrays that keep each label unchanged, and missing values."""

from collections.abc import Collection
from decimal import Decimal
from numbers import Integral, Number, Real
from typing import Any

import numpy as np

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import Array, Label


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


def label_array(labels: Collection[object]) -> Array:
    r"""One-dimensional array of labels that keeps every label unchanged.

    NumPy converts 1 to ``'1'`` in a list with strings, a list of tuples to two dimensions,
    ``'a\0'`` to ``'a'``, and ``2**63`` and ``2**63 - 1`` to the same number. If it would change a
    label, the array has the dtype object.

    An array is returned unchanged.

    >>> label_array(["ant", "bee"])
    array(['ant', 'bee'], dtype='<U3')
    >>> label_array([1, "bee"])
    array([1, 'bee'], dtype=object)
    >>> label_array(["a", "a\0"])
    array(['a', 'a\x00'], dtype=object)
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        return labels
    labels = list(labels)
    kinds = {kind_of_label(label) for label in labels}
    if len(kinds) == 1 and kinds != {"other"}:
        array = np.asarray(labels)
        if not _changes(labels, array):
            return array
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        array[i] = label
    return array


def listed_labels(labels: Any, name: str) -> Array:
    """Array of a list of labels or names from the user, such as all classes.

    Raises ValueError if it is not a list, or an item cannot be a label; ``name`` is the name of the
    list in the message.
    """
    try:
        if isinstance(labels, (str, bytes)):
            raise TypeError(f"got the string {shorten_repr(labels)}")
        if isinstance(labels, (set, frozenset)):
            raise TypeError("got a set, which has no order")
        array = label_array(labels)
        for label in array.tolist():
            hash(label)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a list of labels, such as strings or numbers ({error})."
        ) from error
    return array


def _changes(labels: list[Label], array: Array) -> bool:
    """Whether a label differs in the array, or all labels are integers and the array is float."""
    if array.dtype.kind == "f" and all(isinstance(label, Integral) for label in labels):
        return True
    pairs = zip(labels, array.tolist(), strict=True)
    return any(old != new and old == old for old, new in pairs)  # NaN is never equal to itself


def kind_of_label(label: object) -> str:
    """Kind of a label: ``"bool"``, ``"number"``, ``"string"`` or ``"other"``."""
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, Real):
        return "number"
    return "string" if isinstance(label, str) else "other"
