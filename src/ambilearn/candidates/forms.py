"""Check candidate sets in every accepted form and convert them to :class:`CandidateSets`.

:func:`as_candidates` accepts Python sets, dictionaries with weights, masks, tables of weights,
plain labels, :class:`AllBut` and :data:`ANYTHING`.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, pairwise
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ambilearn._utils.joined_labels import warn_of_joined_labels
from ambilearn._utils.label_array import kind_of_label, label_array, listed_labels
from ambilearn._utils.missing import is_missing
from ambilearn._utils.structure import check_structure
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates.sets import CandidateSets, pair_rows

_ACCEPTED = (
    "a sequence of label collections (sets, lists, tuples, dictionaries label: weight), a 0/1 or "
    "boolean mask or a table of weights of shape (n_rows, n_labels) as array, sparse matrix or "
    "data frame, or a 1-D array of labels"
)


class AllBut:
    """A row whose label is *not* one of these: all other labels are candidates.

    Parameters
    ----------
    *labels : label
        The excluded labels. ``AllBut()``, or :data:`ANYTHING`, excludes none.

    Examples
    --------
    >>> from ambilearn.candidates import ANYTHING, AllBut, as_candidates
    >>> sets = as_candidates([{"cat", "dog"}, "emu", AllBut("dog"), ANYTHING])
    >>> [sorted(labels) for labels in sets]
    [['cat', 'dog'], ['emu'], ['cat', 'emu'], ['cat', 'dog', 'emu']]
    """

    def __init__(self, *labels: Any) -> None:
        self.labels = labels

    def __repr__(self) -> str:
        return f"AllBut({', '.join(map(repr, self.labels))})"


ANYTHING = AllBut()
"""A row without label information: every label is a candidate."""


def as_candidates(
    y: Any, *, classes: Collection[Any] | None = None, n_rows: int | None = None
) -> CandidateSets:
    """Check candidate sets in any accepted form and convert them to :class:`CandidateSets`.

    Parameters
    ----------
    y : sequence of collections, mask of shape (n_rows, n_labels), or 1-D labels
        - A list, tuple, object array or Series whose elements are sets, lists, tuples or arrays of
          labels. A single label among them is a set of one. A list of lists is read as label
          collections; if it looks like a mask, it raises an error. An element may also be a
          dictionary of labels and their weights, :class:`AllBut` with the excluded labels of the
          row, or :data:`ANYTHING` for a row without label information.
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
    classes = None if classes is None else listed_labels(classes, "classes")
    if isinstance(y, CandidateSets):
        sets = y if classes is None else _with_classes(y, classes)
    elif y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. "
            f"y must be {_ACCEPTED}."
        )
    elif sparse.issparse(y):
        sets = replace(_from_sparse_mask(y, classes), sparse_mask=True)
    elif hasattr(y, "columns") and hasattr(y, "to_numpy"):  # pandas, polars
        sets = _from_frame(np.asarray(y.to_numpy()), list(y.columns), classes)
    elif hasattr(y, "column_names"):  # pyarrow
        sets = _from_frame(np.asarray(y), list(y.column_names), classes)
    else:
        sets = _from_sequence(y, classes)
    if n_rows is not None and len(sets) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has {len(sets)}: both must have equal length, with one "
            "label or candidate set per row of X in the same order."
        )
    return sets


def _from_frame(
    values: NDArray[Any], names: list[Any], classes: Collection[Any] | None
) -> CandidateSets:
    if len(names) == 1:  # a table with one column of labels, or of label collections
        return _from_sequence(values, classes)
    columns = label_array(names)
    if classes is None:
        return _from_dense_mask(values, columns)
    # The columns of the mask are reordered to the given classes.
    position = {label: j for j, label in enumerate(listed_labels(classes, "classes").tolist())}
    unknown = [name for name in columns.tolist() if name not in position]
    if unknown:
        raise ValueError(
            f"y has a column {unknown[0]!r} that is not among the {len(position)} given classes: "
            "add it to the classes, or rename or drop the column."
        )
    mask = np.zeros((len(values), len(position)), dtype=values.dtype)
    mask[:, [position[name] for name in columns.tolist()]] = values
    return _from_dense_mask(mask, classes)


def _from_sequence(y: Any, classes: Collection[Any] | None) -> CandidateSets:
    if hasattr(y, "to_list"):  # pandas and polars; older pandas warns of a Categorical's to_list
        y = y.tolist() if hasattr(y, "tolist") else y.to_list()
    elif isinstance(y, memoryview):
        y = np.asarray(y)
    if isinstance(y, (str, bytes)) or not isinstance(y, (Sequence, np.ndarray)):
        if not hasattr(y, "__array__"):
            raise ValueError(f"y must be {_ACCEPTED}; got {type(y).__name__}.")
        y = np.asarray(y)
    if not isinstance(y, np.ndarray):
        if any(_is_set(row) for row in y):
            _reject_table_as_lists(y)
            return _from_collections(list(y), classes)
        y = label_array(list(y))
    if y.ndim == 2 and y.shape[1] == 1 and y.dtype == object and any(map(_is_set, y[:, 0])):
        y = y[:, 0]
    if y.ndim == 1 and y.dtype == object and any(_is_set(row) for row in y):
        return _from_collections(list(y), classes)
    if y.ndim == 2 and y.shape[1] != 1:
        return _from_dense_mask(y, classes)
    if y.ndim not in (1, 2) or y.dtype.kind == "V":
        what = "records" if y.dtype.kind == "V" else f"{y.ndim} dimensions"
        raise ValueError(f"y must be {_ACCEPTED}; got an array of {what}.")
    return _from_labels(column_or_1d(np.asarray(y), warn=True), classes)


def _reject_table_as_lists(rows: Sequence[Any]) -> None:
    """Reject a mask written as lists: every row would have the candidates {0, 1}."""
    if not all(isinstance(row, (list, tuple)) and len(row) > 1 for row in rows):
        return
    if len({len(row) for row in rows}) > 1:
        return
    if _is_binary(np.array(rows, dtype=object)):
        raise ValueError(
            "y is a list of equally long lists of 0 and 1, which looks like a mask: pass it as an "
            "array, numpy.asarray(y). (If 0 and 1 are labels, pass a list of sets.)"
        )
    flat = list(chain.from_iterable(rows))
    if all(kind_of_label(v) == "number" for v in flat) and any(v != v or v % 1 for v in flat):
        raise ValueError(
            "y is a list of equally long lists of fractions, which looks like a table of weights: "
            "pass it as an array, numpy.asarray(y). (If these are labels, pass a list of sets.)"
        )


def _from_labels(y: NDArray[Any], classes: Collection[Any] | None) -> CandidateSets:
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
        sets = _from_collections([(label,) for label in y.tolist()], classes)
    if sets.classes.dtype.kind in "UO":
        warn_of_joined_labels(sets.classes.tolist())
    return sets


def _from_collections(rows: list[Any], classes: Collection[Any] | None) -> CandidateSets:
    known = [_label_weights(i, row) for i, row in enumerate(rows)]
    if not rows:
        raise ValueError("y has no rows: pass a candidate set for each row of X.")
    if classes is None and not any(known):
        raise ValueError(
            "No row names a label: pass all labels as classes=, or pass at least one row with "
            "candidate labels."
        )
    try:
        if classes is None:
            classes = label_array(_sorted_labels(set(chain.from_iterable(known))))
            _warn_excluded_without_candidate(rows, known)
        classes = label_array(classes)
        position = {label: j for j, label in enumerate(classes.tolist())}
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(
            f"The labels cannot be sorted ({error}): use labels of one "
            "hashable, sortable type, or pass the candidate sets as a mask."
        ) from error
    _check_classes_distinct(classes, position)
    columns: list[int] = []
    weights: list[float] = []
    ends = [0]
    for i, (row, labels) in enumerate(zip(rows, known, strict=True)):
        try:
            pairs = {position[label]: weight for label, weight in labels.items()}
        except KeyError as error:
            raise _not_a_class(i, error.args[0], classes) from error
        if isinstance(row, AllBut):
            pairs = dict.fromkeys(set(position.values()) - set(pairs), 1.0)
        kept = sorted(j for j, weight in pairs.items() if weight > 0)
        if not kept:
            raise ValueError(
                f"The candidate set of row {i} is empty ({shorten_repr(row)} leaves no label): "
                "every row needs at least one candidate label. Drop the row, or pass ANYTHING if "
                "its label is unknown."
            )
        columns += kept
        weights += [pairs[j] for j in kept]
        ends.append(len(columns))
    sets = CandidateSets(classes, np.array(ends, np.intp), np.array(columns, np.intp))
    return _with_weights(sets, np.array(weights))


def _not_a_class(i: int, label: Any, classes: NDArray[Any]) -> ValueError:
    return ValueError(
        f"Row {i} has the candidate label {shorten_repr(label)}, which is not among the "
        f"{len(classes)} given classes: add it to the classes, or correct the row."
    )


def _with_classes(sets: CandidateSets, classes: NDArray[Any]) -> CandidateSets:
    """Replace the columns of the sets by the given classes, in their order."""
    position = {label: j for j, label in enumerate(classes.tolist())}
    _check_classes_distinct(classes, position)
    columns = np.array([position.get(label, -1) for label in sets.classes.tolist()], np.intp)
    labels = columns[sets.labels]
    outside = np.flatnonzero(labels < 0)
    if len(outside):
        label = sets.classes.tolist()[sets.labels[outside[0]]]
        raise _not_a_class(int(pair_rows(sets)[outside[0]]), label, classes)
    order = np.lexsort((labels, pair_rows(sets)))
    weights = None if sets.weights is None else sets.weights[order]
    return replace(sets, classes=classes, labels=labels[order], weights=weights)


def _warn_excluded_without_candidate(rows: list[Any], known: list[dict[Any, float]]) -> None:
    """Warn if an excluded label is a candidate in no row: it may be misspelled.

    If all rows are :class:`AllBut`, every label is of this kind, and there is no warning.
    """
    excluded: dict[Any, int] = {}  # label: first row that excludes it
    candidates: set[Any] = set()
    for i, (row, labels) in enumerate(zip(rows, known, strict=True)):
        if isinstance(row, AllBut):
            for label in labels:
                excluded.setdefault(label, i)
        else:
            candidates.update(labels)
    unmatched = next((label for label in excluded if label not in candidates), None)
    if candidates and unmatched is not None:
        warn_user(
            f"Row {excluded[unmatched]} excludes the label {shorten_repr(unmatched)}, which is a "
            "candidate in no row: check its spelling. If it is a label, pass all labels as "
            "as_candidates(y, classes=[...])."
        )


def _sorted_labels(labels: set[Any]) -> list[Any]:
    """Sort the labels; raise an error if they have no total order, such as sets."""
    ascending = sorted(labels)
    for one, other in pairwise(ascending):
        if not one < other:
            raise TypeError(f"{shorten_repr(one)} and {shorten_repr(other)} have no order")
    return ascending


def _label_weights(i: int, row: Any) -> dict[Any, float]:
    """Labels that row *i* names, with their weights; the default weight is 1."""
    labels: Collection[Any] = [row]
    if isinstance(row, AllBut):
        labels = row.labels
    elif _is_collection(row):
        labels = _flat(row)
        if not labels:
            raise ValueError(
                f"The candidate set of row {i} is empty: every row needs at least one candidate "
                "label. Drop the row, or pass ambilearn.candidates.ANYTHING if its label is "
                "unknown."
            )
    for label in labels:
        if isinstance(label, AllBut):
            raise ValueError(
                f"Row {i} has {shorten_repr(label)} inside a set: pass it as the whole row, not "
                "inside a collection."
            )
        if is_missing(label):
            raise ValueError(
                f"The candidate set of row {i} contains NaN ({label!r}): remove it from the set, "
                "or drop the row."
            )
    if not isinstance(row, Mapping):
        try:
            return dict.fromkeys(labels, 1.0)
        except (TypeError, ValueError) as error:  # ValueError: a memoryview
            several = "write AllBut('a', 'b') for several, " if isinstance(row, AllBut) else ""
            raise ValueError(
                f"Row {i} has a candidate that cannot be a label ({error}): {several}use labels of "
                "one hashable, sortable type, or pass the candidate sets as a mask."
            ) from error
    for label, weight in row.items():
        if not _is_weight(weight):
            raise ValueError(
                f"Row {i} gives the label {shorten_repr(label)} the weight {shorten_repr(weight)}: "
                "weights must be finite and not negative; a label with weight 0 is not a candidate."
            )
    return {label: float(weight) for label, weight in row.items()}


def _is_weight(weight: Any) -> bool:
    try:
        return isinstance(weight, Real) and isfinite(weight) and float(weight) >= 0
    except OverflowError:  # an integer of hundreds of digits
        return False


def _with_weights(sets: CandidateSets, weights: NDArray[np.float64]) -> CandidateSets:
    """Add a weight for each pair, unless the weights are equal within every row."""
    equal = np.array_equal(weights, weights[sets.indptr[:-1]][pair_rows(sets)])
    return sets if equal else replace(sets, weights=weights)


def _from_dense_mask(table: NDArray[Any], classes: Collection[Any] | None) -> CandidateSets:
    """Convert a mask or a table of weights."""
    if table.dtype.kind in "cMmV":  # complex numbers, times, records
        values = np.full(table.shape, np.nan)
    elif _is_binary(table):
        return _from_sparse_mask(sparse.csr_array(table.astype(bool)), classes)
    else:
        values = _as_weights(table)
    wrong = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        i, j = map(int, wrong[0])
        _reject_weight(i, table[i, j])
    return _from_sparse_mask(sparse.csr_array(values), classes)


def _as_weights(table: NDArray[Any]) -> NDArray[np.float64]:
    """The entries as numbers; NaN where an entry is not a number."""
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError, ArithmeticError):
        values = np.full(table.shape, np.nan)
        for place, value in np.ndenumerate(table):
            if _is_weight(value):
                values[place] = value
        return values


def _reject_weight(i: int, value: Any) -> None:
    value = value.item() if isinstance(value, np.generic) else value
    what = "contains NaN" if is_missing(value) else "is neither a mask nor a table of weights"
    raise ValueError(
        f"The 2-D y {what}: row {i} has the value {shorten_repr(value)}. A mask has 1 for each "
        "candidate and 0 for every other label; weights must be finite and not negative. Pass "
        "label collections as a list of sets."
    )


def _from_sparse_mask(mask: Any, classes: Collection[Any] | None) -> CandidateSets:
    if mask.dtype != bool:  # sums of duplicate entries could overflow small integers
        mask = mask.astype(np.float64)
    mask = sparse.csr_array(mask)
    if not mask.has_canonical_format:
        mask = mask.copy()
        mask.sum_duplicates()
    values = mask.data
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        i = int(np.searchsorted(mask.indptr, wrong[0], side="right")) - 1
        _reject_weight(i, values[wrong[0]])
    if not values.all():
        mask = mask.copy()
        mask.eliminate_zeros()
    empty = np.flatnonzero(np.diff(mask.indptr) == 0)
    if len(empty):
        raise ValueError(
            f"The candidate set of row {empty[0]} is empty (row of zeros in the mask; "
            f"{len(empty)} such rows): every row needs at least one candidate label. Drop such "
            "rows, or mark all labels if the label is unknown."
        )
    n_labels = mask.shape[1]
    names = np.arange(n_labels) if classes is None else label_array(classes)
    if len(names) != n_labels:
        raise ValueError(
            f"The mask y has {n_labels} columns but there are {len(names)} classes: pass one class "
            "per column, in the order of the columns."
        )
    _check_classes_distinct(names, set(names.tolist()))
    sets = CandidateSets(names, mask.indptr.astype(np.intp), mask.indices.astype(np.intp))
    return _with_weights(sets, mask.data.astype(np.float64))


def _check_classes_distinct(classes: NDArray[Any], distinct: Collection[Any]) -> None:
    if len(distinct) != len(classes):
        [(duplicate, _)] = Counter(classes.tolist()).most_common(1)
        raise ValueError(
            f"The class {shorten_repr(duplicate)} is listed more than once: the classes, or the "
            "columns of a mask, need different names."
        )
    for label in classes.tolist():
        if is_missing(label):
            raise ValueError(f"The classes contain a missing value ({label!r}): name every class.")


def _flat(row: Collection[Any]) -> list[Any]:
    if isinstance(row, memoryview):
        row = np.asarray(row)
    return row.tolist() if isinstance(row, np.ndarray) else list(row)


def _is_set(row: Any) -> bool:
    return isinstance(row, AllBut) or _is_collection(row)


def _is_collection(row: Any) -> bool:
    if isinstance(row, (np.ndarray, memoryview)):
        return row.ndim > 0
    return isinstance(row, Collection) and not isinstance(row, (str, bytes))


def _is_binary(values: NDArray[Any]) -> bool:
    if values.dtype == object:  # cell by cell: some objects cannot be compared with numbers
        numbers = (Real, Decimal, np.bool_)
        return all(
            isinstance(cell, numbers) and not is_missing(cell) and cell in (0, 1)
            for cell in values.flat
        )
    return bool(np.all((values == 0) | (values == 1)))
