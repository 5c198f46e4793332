"""Checks that all forms of candidate sets share."""

from collections import Counter
from collections.abc import Collection
from math import isfinite
from numbers import Real

from ambilearn._utils.missing import is_missing
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import Array


def check_classes_distinct(classes: Array, distinct: Collection[object]) -> None:
    """Raise an error for equal or missing classes; ``distinct`` has each class once."""
    if len(distinct) != len(classes):
        [(duplicate, _)] = Counter(classes.tolist()).most_common(1)
        raise ValueError(
            f"The class {shorten_repr(duplicate)} is listed more than once: the classes, or the "
            "columns of a mask, need different names."
        )
    for label in classes.tolist():
        if is_missing(label):
            raise ValueError(f"The classes contain a missing value ({label!r}): name every class.")


def not_a_class(i: int, label: object, classes: Array) -> ValueError:
    """The error for a label of row *i* that is not one of the classes."""
    return ValueError(
        f"Row {i} has the candidate label {shorten_repr(label)}, which is not among the "
        f"{len(classes)} given classes: add it to the classes, or correct the row."
    )


def is_weight(weight: object) -> bool:
    """Whether a value is a finite number that is not negative."""
    try:
        return isinstance(weight, Real) and isfinite(weight) and float(weight) >= 0
    except OverflowError:  # an integer of hundreds of digits
        return False
