"""Candidate sets from masks and tables of weights, dense or sparse, and their columns."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.labels import is_missing, kind_of_label, label_array
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import AnyCandidates, Array, Matrix
from ambilearn.candidates.sets import CandidateSets, label_positions, pair_rows, with_weights


def from_dense_mask(table: Array, classes: Collection[object] | None) -> CandidateSets:
    """Convert a mask or a table of weights."""
    if table.dtype.kind in "cMmV":  # complex numbers, times, records
        values = np.full(table.shape, np.nan)
    elif is_binary(table):
        return from_sparse_mask(sparse.csr_array(table.astype(bool)), classes)
    else:
        values = _as_weights(table)
    wrong = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        i, j = map(int, wrong[0])
        _reject_weight(i, table[i, j])
    return from_sparse_mask(sparse.csr_array(values), classes)


def _as_weights(table: Array) -> NDArray[np.float64]:
    """The entries as numbers; NaN where an entry is not a number, such as a text of digits."""
    if not _has_text(table):
        try:
            return table.astype(np.float64)
        except (TypeError, ValueError, ArithmeticError):
            pass
    values = np.full(table.shape, np.nan)
    for place, value in np.ndenumerate(table):
        if is_weight(value):
            values[place] = value
    return values


def _has_text(table: Array) -> bool:
    if table.dtype == object:
        return any(isinstance(cell, (str, bytes)) for cell in table.flat)
    return table.dtype.kind in "UST"


def _reject_weight(i: int, value: object) -> None:
    value = value.item() if isinstance(value, np.generic) else value
    what = "contains NaN" if is_missing(value) else "is neither a mask nor a table of weights"
    raise ValueError(
        f"The 2-D y {what}: row {i} has the value {shorten_repr(value)}. A mask has 1 for each "
        "candidate and 0 for every other label; weights must be finite and not negative. Pass "
        "label collections as a list of sets."
    )


def is_unnamed_mask(y: AnyCandidates) -> bool:
    """Whether y is a mask, or a table of weights, whose columns have no names."""
    if isinstance(y, CandidateSets) or hasattr(y, "columns"):
        return False
    shape: Any = getattr(y, "shape", ())
    return len(shape) == 2 and bool(sparse.issparse(y) or shape[1] != 1)  # a dense column: labels


def from_named_columns(values: Array, names: list[Any], classes: Array | None) -> CandidateSets:
    """Convert a mask or a table of weights whose columns have names."""
    columns = label_array(names)
    if classes is None:
        return from_dense_mask(values, columns)
    # The columns of the mask are reordered to the given classes.
    position = label_positions(classes)
    unknown = [name for name in label_positions(columns) if name not in position]
    if unknown:
        raise ValueError(
            f"y has a column {unknown[0]!r} that is not among the {len(position)} given classes: "
            "add it to the classes, or rename or drop the column."
        )
    mask = np.zeros((len(values), len(position)), dtype=values.dtype)
    mask[:, [position[name] for name in columns.tolist()]] = values
    return from_dense_mask(mask, classes)


def from_sparse_mask(mask: Matrix, classes: Collection[object] | None) -> CandidateSets:
    """Convert a sparse mask or table of weights."""
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
    sets = CandidateSets(names, mask.indptr.astype(np.intp), mask.indices.astype(np.intp))
    return with_weights(sets, mask.data.astype(np.float64))


def is_binary(values: Array) -> bool:
    """Whether all values are 0 or 1."""
    if values.dtype == object:  # cell by cell: some objects cannot be compared with numbers
        numbers = (Real, Decimal, np.bool_)
        return all(
            isinstance(cell, numbers) and not is_missing(cell) and cell in (0, 1)
            for cell in values.flat
        )
    return bool(np.all((values == 0) | (values == 1)))


def with_classes(sets: CandidateSets, classes: Array) -> CandidateSets:
    """Replace the columns of the sets by the given classes, in their order."""
    position = label_positions(classes)
    columns = np.array([position.get(label, -1) for label in sets.classes.tolist()], np.intp)
    labels = columns[sets.labels]
    outside = np.flatnonzero(labels < 0)
    if len(outside):
        label = sets.classes.tolist()[sets.labels[outside[0]]]
        raise not_a_class(int(pair_rows(sets)[outside[0]]), label, classes)
    order = np.lexsort((labels, pair_rows(sets)))
    weights = None if sets.weights is None else sets.weights[order]
    return replace(sets, classes=classes, labels=labels[order], weights=weights)


def reject_table_as_lists(rows: Sequence[Any]) -> None:
    """Reject a mask written as lists: every row would have the candidates {0, 1}."""
    if len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return
    if is_binary(np.array(rows, dtype=object)):
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
