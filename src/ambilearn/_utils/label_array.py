"""Labels as an array that keeps each of them as it is."""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.text import shorten_repr


def label_array(labels: Collection[Any]) -> NDArray[Any]:
    r"""One-dimensional array of labels in which every one stays what it is.

    NumPy's own arrays make ``'1'`` of 1 beside text, two dimensions of a list of tuples, ``'a'`` of
    ``'a\0'``, and one number of ``2**63`` and ``2**63 - 1``. Where it would change a label, the
    array is one of objects.

    Parameters
    ----------
    labels : collection or ndarray of shape (n,)
        The labels; an array comes back as it is.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from ambilearn._utils.label_array import label_array
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


def listed_labels(labels: Any, name: str) -> NDArray[Any]:
    """Labels or names that a user lists, such as all classes, as an array that keeps them.

    Parameters
    ----------
    labels : collection
        What was listed.
    name : str
        What the user calls the list.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        If it is no list, or something in it cannot be a label.
    """
    try:
        if isinstance(labels, (str, bytes)):
            raise TypeError(f"got the one text {shorten_repr(labels)}")
        array = label_array(labels)
        for label in array.tolist():
            hash(label)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a list of labels, such as texts or numbers ({error})."
        ) from error
    return array


def _changes(labels: list[Any], array: NDArray[Any]) -> bool:
    """Whether a label is another one in the array, or all whole numbers became floating point."""
    if array.dtype.kind == "f" and all(isinstance(label, Integral) for label in labels):
        return True
    pairs = zip(labels, array.tolist(), strict=True)
    return any(old != new and old == old for old, new in pairs)  # NaN is never equal to itself


def kind_of_label(label: Any) -> str:
    """One of ``"bool"``, ``"number"``, ``"string"`` and ``"other"``."""
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, Real):
        return "number"
    return "string" if isinstance(label, str) else "other"
