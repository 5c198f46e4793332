"""Check that labels can be compared: '3' never equals 3, so a score would be meaningless."""

from numbers import Real

import numpy as np

from ambilearn._utils.types import Array

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
