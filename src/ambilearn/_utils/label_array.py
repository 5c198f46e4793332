"""Arrays of labels that keep each label unchanged, and whether labels can be compared."""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import Array


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


def _changes(labels: list[Any], array: Array) -> bool:
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


_KIND_OF_DTYPE = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text"}


def check_comparable_labels(labels: Array, others: Array, name: str, other_name: str) -> None:
    """Raise if labels can never be equal because some are text and the others are numbers.

    Labels of the same kind that do not occur among the others are valid.

    The names are for the message, such as ``"y"`` and ``"the labels that the model predicts"``.

    >>> import numpy as np
    >>> check_comparable_labels(np.array([7, 8]), np.array([1, 2]), "y", "the classes")
    >>> check_comparable_labels(np.array(["1", "2"]), np.array([1, 2]), "y", "the classes")
    Traceback (most recent call last):
    ...
    ValueError: y has text as labels, such as '1', but the classes are numbers, such as 1: ...
    """
    kinds, other_kinds = _kinds(labels), _kinds(others)
    if kinds and other_kinds and not kinds & other_kinds:
        raise ValueError(
            f"{name} has {' and '.join(sorted(kinds))} as labels, such as {labels.tolist()[0]!r}, "
            f"but {other_name} are {' and '.join(sorted(other_kinds))}, such as "
            f"{others.tolist()[0]!r}: they can never be equal. Convert both to the same type, for "
            "instance with y.astype(str)."
        )


def _kinds(labels: Array) -> set[str]:
    if labels.dtype.kind in _KIND_OF_DTYPE:
        return {_KIND_OF_DTYPE[labels.dtype.kind]} if len(labels) else set()
    return {_kind(label) for label in labels.tolist()}


def _kind(label: object) -> str:
    if isinstance(label, (Real, np.bool_)):  # also bool: True is 1
        return "numbers"
    return "text" if isinstance(label, str) else "objects"
