"""Candidate sets from one collection of labels per row."""

from collections.abc import Collection, Mapping
from itertools import chain, pairwise

import numpy as np

from ambilearn._utils.labels import is_missing, label_array
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import AnyCandidates, Label
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates.masks import is_weight, not_a_class
from ambilearn.candidates.sets import CandidateSets, label_positions, with_weights


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

    def __init__(self, *labels: object) -> None:
        self.labels = labels

    def __repr__(self) -> str:
        return f"AllBut({', '.join(map(repr, self.labels))})"


ANYTHING = AllBut()
"""A row without label information: every label is a candidate."""


def from_collections(
    rows: list[AnyCandidates], classes: Collection[object] | None
) -> CandidateSets:
    """Convert rows that are collections of labels, dictionaries, single labels or AllBut."""
    known = [_label_weights(i, row) for i, row in enumerate(rows)]
    if not rows:
        raise ValueError("y has no rows: pass a candidate set for each row of X.")
    if classes is None and not any(known):
        raise ValueError(
            "No row names a label: pass all labels as classes=, or pass at least one row with "
            "candidate labels."
        )
    if classes is None:
        classes = _sorted_labels(set(chain.from_iterable(known)))
        _warn_excluded_without_candidate(rows, known)
    classes = label_array(classes)
    position = label_positions(classes)
    columns: list[int] = []
    weights: list[float] = []
    ends = [0]
    for i, (row, labels) in enumerate(zip(rows, known, strict=True)):
        try:
            pairs = {position[label]: weight for label, weight in labels.items()}
        except KeyError as error:
            raise not_a_class(i, error.args[0], classes) from error
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
    return with_weights(sets, np.array(weights))


def _warn_excluded_without_candidate(
    rows: list[AnyCandidates], known: list[dict[Label, float]]
) -> None:
    """Warn if an excluded label is a candidate in no row: it may be misspelled.

    If all rows are :class:`AllBut`, every label is of this kind, and there is no warning.
    """
    excluded: dict[Label, int] = {}  # label: first row that excludes it
    candidates: set[Label] = set()
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


def _sorted_labels(labels: set[Label]) -> list[Label]:
    """Sort the labels; raise an error if they have no total order, such as sets."""
    try:
        ascending = sorted(labels)
        for one, other in pairwise(ascending):
            if not one < other:
                raise TypeError(f"{shorten_repr(one)} and {shorten_repr(other)} have no order")
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(
            f"The labels cannot be sorted ({error}): use labels of one "
            "hashable, sortable type, or pass the candidate sets as a mask."
        ) from error
    return ascending


def _label_weights(i: int, row: AnyCandidates) -> dict[Label, float]:
    """Labels that row *i* names, with their weights; the default weight is 1."""
    labels: Collection[object] = [row]
    if isinstance(row, AllBut):
        labels = row.labels
    elif _is_collection(row):
        labels = row.tolist() if isinstance(row, np.ndarray) else list(row)
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
        except (TypeError, ValueError) as error:
            several = "write AllBut('a', 'b') for several, " if isinstance(row, AllBut) else ""
            raise ValueError(
                f"Row {i} has a candidate that cannot be a label ({error}): {several}use labels of "
                "one hashable, sortable type, or pass the candidate sets as a mask."
            ) from error
    for label, weight in row.items():
        if not is_weight(weight):
            raise ValueError(
                f"Row {i} gives the label {shorten_repr(label)} the weight {shorten_repr(weight)}: "
                "weights must be finite and not negative; a label with weight 0 is not a candidate."
            )
    return {label: float(weight) for label, weight in row.items()}


def is_label_set(row: object) -> bool:
    """Whether a row is a collection of labels or AllBut, not a single label."""
    return isinstance(row, AllBut) or _is_collection(row)


def _is_collection(row: object) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim > 0
    return isinstance(row, Collection) and not isinstance(row, (str, bytes))
