"""Check candidate sets in every accepted form and convert them to :class:`CandidateSets`.

:func:`as_candidates` accepts Python sets, dictionaries with weights, masks, tables of weights,
plain labels, :class:`AllBut` and :data:`ANYTHING`.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ambilearn._utils.array_checks import check_structure, column_names
from ambilearn._utils.labels import is_missing, label_array, listed_labels
from ambilearn._utils.suspicious_labels import warn_of_joined_labels
from ambilearn._utils.types import AnyCandidates, Array
from ambilearn.candidates.label_collections import AllBut as AllBut  # pickles of 0.1.0
from ambilearn.candidates.label_collections import from_collections, is_label_set
from ambilearn.candidates.masks import (
    from_dense_mask,
    from_named_columns,
    from_sparse_mask,
    reject_table_as_lists,
    with_classes,
)
from ambilearn.candidates.sets import CandidateSets

_ACCEPTED = (
    "a sequence of label collections (sets, lists, tuples, dictionaries label: weight), a 0/1 or "
    "boolean mask or a table of weights of shape (n_rows, n_labels) as array, sparse matrix or "
    "data frame, or a 1-D array of labels"
)


def as_candidates(
    y: AnyCandidates, *, classes: Collection[object] | None = None, n_rows: int | None = None
) -> CandidateSets:
    """Check candidate sets in any accepted form and convert them to :class:`CandidateSets`.

    Parameters
    ----------
    y : sequence of collections, mask of shape (n_rows, n_labels), or 1-D labels
        - A list, tuple, object array or Series whose elements are sets, lists, tuples or arrays of
          labels. A single label among them is a set of one. A list of lists is read as label
          collections; if it looks like a mask, it raises an error. An element may also be a
          dictionary of labels and their weights, :class:`AllBut` with the excluded labels of the
          row, or :data:`ANYTHING` for a row without label information. A column of PyArrow maps
          is read as dictionaries.
        - A boolean or 0/1 mask: 2-D array, any SciPy sparse matrix, or a data frame (pandas,
          polars) whose columns are the labels.
        - A table of nonnegative weights in the same forms, such as vote counts or probabilities.
          A label with weight zero is not a candidate.
        - 1-D labels: every row has exactly one candidate.
        - A :class:`CandidateSets`, which is returned unchanged unless ``classes`` is given.
    classes : array-like of shape (n_labels,), optional
        All labels, in column order. By default the sorted labels that occur, the
        column names of a data frame, the classes of a :class:`CandidateSets`, or
        ``0 … n_labels - 1`` for any other mask.
    n_rows : int, optional
        Number of rows that ``y`` must have (the rows of X).

    Returns
    -------
    CandidateSets

    Raises
    ------
    ValueError
        For an empty set, a missing label, a label outside ``classes``, a weight that is negative
        or not finite, or a wrong number of rows. The message names the first invalid row,
        counted from 0.

    Notes
    -----
    Labels are compared by ``==`` and keep their value: text is not stripped, and its Unicode form
    does not change. Labels that are read from a table or passed as votes
    (:func:`ambilearn.tables.read_candidate_table`, :class:`ambilearn.crowd.Votes`,
    :func:`ambilearn.votes_to_candidates`) are normalized: Unicode form NFC, without leading and
    trailing blanks, zero-width spaces, word joiners and byte-order marks; a no-break space becomes
    a space.

    Examples
    --------
    >>> from ambilearn.candidates import as_candidates
    >>> sets = as_candidates([{"anna", "bob"}, ["bob"], ("cleo", "anna")])
    >>> sets.classes
    array(['anna', 'bob', 'cleo'], dtype='<U4')
    >>> sets.to_mask().astype(int)
    array([[1, 1, 0],
           [0, 1, 0],
           [1, 0, 1]])
    """
    check_structure(y, "y")
    y = _as_dictionaries(y)
    classes = None if classes is None else listed_labels(classes, "classes")
    if isinstance(y, CandidateSets):
        sets = y if classes is None else with_classes(y, classes)
    elif y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. "
            f"y must be {_ACCEPTED}."
        )
    elif sparse.issparse(y):
        sets = replace(from_sparse_mask(y, classes), sparse_mask=True)
    elif hasattr(y, "columns") and hasattr(y, "to_numpy"):  # pandas, polars
        sets = _from_table(np.asarray(y.to_numpy()), list(y.columns), classes)
    elif hasattr(y, "column_names"):  # pyarrow
        sets = _from_table(np.asarray(y), list(y.column_names), classes)
    else:
        sets = _from_sequence(y, classes)
    if n_rows is not None and len(sets) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has {len(sets)}: both must have equal length, with one "
            "label or candidate set per row of X in the same order."
        )
    return sets


def _as_dictionaries(y: AnyCandidates) -> Any:
    """The rows of a column of maps (PyArrow) or structs (polars); any other y unchanged.

    NumPy would have lists of pairs and of values, which could also be labels. Every struct has the
    labels of all rows; those that a row does not have are null.
    """
    names = column_names(y)
    column = y[names[0]] if names is not None and len(names) == 1 else y
    kind = str(getattr(column, "dtype", getattr(column, "type", "")))
    if not kind.startswith(("map<", "struct<", "Struct(")):
        return y
    rows = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    dictionaries = [row if is_missing(row) else dict(row) for row in rows]
    if kind.startswith("map<"):
        return dictionaries
    return [
        {label: weight for label, weight in row.items() if weight is not None}
        if isinstance(row, dict)
        else row
        for row in dictionaries
    ]


def _from_table(values: Array, names: list[Any], classes: Array | None) -> CandidateSets:
    if len(names) == 1:  # one column of labels, or of label collections
        return _from_sequence(values, classes)
    return from_named_columns(values, names, classes)


def _from_sequence(y: AnyCandidates, classes: Collection[object] | None) -> CandidateSets:
    if hasattr(y, "to_list"):  # pandas and polars; older pandas warns of a Categorical's to_list
        y = y.tolist() if hasattr(y, "tolist") else y.to_list()
    elif isinstance(y, memoryview):
        y = np.asarray(y)
    if isinstance(y, (str, bytes)) or not isinstance(y, (Sequence, np.ndarray)):
        if not hasattr(y, "__array__"):
            raise ValueError(f"y must be {_ACCEPTED}; got {type(y).__name__}.")
        y = np.asarray(y)
    if not isinstance(y, np.ndarray):
        if any(is_label_set(row) for row in y):
            if all(isinstance(row, (list, tuple)) for row in y):
                reject_table_as_lists(y)
            return from_collections(list(y), classes)
        y = label_array(list(y))
    if y.ndim == 2 and y.shape[1] == 1 and y.dtype == object and any(map(is_label_set, y[:, 0])):
        y = y[:, 0]
    if y.ndim == 1 and y.dtype == object and any(is_label_set(row) for row in y):
        return from_collections(list(y), classes)
    if y.ndim == 2 and y.shape[1] != 1:
        return from_dense_mask(y, classes)
    if y.ndim not in (1, 2) or y.dtype.kind == "V":
        what = "records" if y.dtype.kind == "V" else f"{y.ndim} dimensions"
        raise ValueError(f"y must be {_ACCEPTED}; got an array of {what}.")
    return _from_labels(column_or_1d(np.asarray(y), warn=True), classes)


def _from_labels(y: Array, classes: Collection[object] | None) -> CandidateSets:
    """Ordinary labels: a set of one per row."""
    if y.dtype.kind not in "biufcSUMm":  # objects, or one of NumPy's newer kinds of text
        y = label_array(y.tolist())
    if y.dtype.kind not in "biuUS":
        for i, label in enumerate(y.tolist()):
            if is_missing(label):
                raise ValueError(
                    f"Input y contains NaN: the label of row {i} is {label!r}. Drop the row, or "
                    "pass a list of sets in which the row has all possible labels."
                )
    if y.dtype != object:  # objects need only be hashable and sortable
        check_classification_targets(y)
    if classes is None and y.dtype != object:
        classes, labels = np.unique(y, return_inverse=True)
        sets = CandidateSets(classes, np.arange(len(y) + 1), labels)
    else:
        sets = from_collections([(label,) for label in y.tolist()], classes)
    if sets.classes.dtype.kind in "UO":
        warn_of_joined_labels(sets.classes.tolist())
    return sets
