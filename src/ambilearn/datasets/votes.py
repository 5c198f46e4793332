"""Convert annotator votes to candidate sets."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from ambilearn._utils.labels import (
    is_missing,
    label_array,
    listed_labels,
    normalize_label,
    split_labels,
)
from ambilearn._utils.text import shorten_repr
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.sets import label_positions
from ambilearn.datasets.no_answer import drop_codes, no_answer_codes


def votes_to_candidates(
    votes: Any,
    *,
    min_votes: int = 1,
    fallback: str = "error",
    classes: Collection[Any] | None = None,
    no_answer: Any = (),
    weights: bool = True,
) -> CandidateSets:
    r"""Candidate sets from the votes of several annotators, with the counts as weights.

    If :math:`v_{ij}` annotators gave row *i* the label *j*, the candidates are

    .. math:: S_i = \{ j : v_{ij} \ge m \}

    with weights :math:`v_{ij}`; :math:`m = 1` is the union of all votes.

    Parameters
    ----------
    votes : data frame or array-like of shape (n_rows, n_annotators)
        One label in each cell, or a collection of labels for an unsure annotator. An empty cell
        (None, NaN, empty string, empty collection) is not a vote. Text is normalized; see the
        notes of :func:`ambilearn.candidates.as_candidates`.
    min_votes : int, default=1
        Votes that a label needs, *m*.
    fallback : {"error", "union"}, default="error"
        If no label of a row has enough votes, raise an error or use all its votes.
    classes : array-like of shape (n_labels,), optional
        All labels. By default the sorted labels with at least one vote.
    no_answer : label or collection of labels, default=()
        Codes that mean no vote, such as -1 or "skipped". A number also matches as text.
    weights : bool, default=True
        If False, the counts are ignored: all candidates of a row have equal weight.

    Returns
    -------
    CandidateSets

    Raises
    ------
    ValueError
        For a row without any vote, or, unless ``fallback="union"``, without enough votes for any
        label. The message names the row, counted from 0.

    See Also
    --------
    ambilearn.crowd.Votes : Keeps the annotator of each vote; also reads long form.
    ambilearn.crowd.CrowdClassifier : Estimates the quality of the annotators.

    Examples
    --------
    >>> from ambilearn import votes_to_candidates
    >>> votes = [["cat", "cat", "dog"], ["dog", None, "fox"], ["fox", "fox", "fox"]]
    >>> list(votes_to_candidates(votes))
    [{'cat': 2.0, 'dog': 1.0}, {'dog': 1.0, 'fox': 1.0}, {'fox': 3.0}]
    >>> votes_to_candidates(votes, min_votes=2)
    Traceback (most recent call last):
    ...
    ValueError: In row 1 no label has 2 votes ('dog': 1, 'fox': 1). Lower min_votes, ...
    >>> votes_to_candidates(votes, min_votes=2, fallback="union").to_sets()[0]
    {'cat'}
    """
    check_votes(votes)
    votes = rows_of_votes(votes)
    if isinstance(votes, np.ndarray) and votes.ndim != 2:
        raise ValueError(
            f"votes must have two dimensions, one row per example and one column per "
            f"annotator; its shape is {votes.shape}."
        )
    codes = no_answer_codes(no_answer)
    index: dict[Any, int] = {}
    pair_rows: list[int] = []
    pair_labels: list[int] = []
    n_rows = 0
    for i, row in enumerate(votes):
        n_rows = i + 1
        before = len(pair_rows)
        if not _is_list(row):
            what = "one text, " if isinstance(row, str) else ""
            raise ValueError(
                f"Row {i} of the votes is {what}{shorten_repr(row)}: pass a list of votes per row."
            )
        for cell in row:
            for label in parse_labels(drop_codes(cell, codes), None, i):
                pair_rows.append(i)
                pair_labels.append(index.setdefault(label, len(index)))
        if len(pair_rows) == before:
            raise ValueError(f"Row {i} has no candidate label. Drop the row, or fill it in.")
    if not n_rows:
        raise ValueError("There are no votes: pass at least one row.")
    labels = list(index)
    names = order_classes(labels, classes)
    position = {label: j for j, label in enumerate(names)}
    columns = np.array([position[label] for label in labels], dtype=np.intp)[pair_labels]
    counts = sparse.csr_array(
        (np.ones(len(pair_rows), dtype=np.int64), (pair_rows, columns)),
        shape=(n_rows, len(names)),
    )
    return candidates_from_counts(counts, names, min_votes, fallback, weights=weights)


def check_votes(votes: Any) -> None:
    """Raise an error if votes are not a table, or a sparse matrix."""
    if sparse.issparse(votes):
        raise ValueError(
            "The votes are a sparse matrix, in which the label 0 and no answer are the same: pass "
            "an array, with NaN or a code of no_answer= for no answer."
        )
    if not _is_list(votes):
        raise ValueError(f"The votes are {shorten_repr(votes)}: pass a list of votes per row.")


def rows_of_votes(votes: Any) -> Any:
    """The rows of a table of pandas, polars or PyArrow; other votes unchanged."""
    # In one array, whole numbers beside floats or null would be floats.
    frame = type(votes)
    if hasattr(frame, "column_names"):  # a table of PyArrow
        return list(zip(*(column.to_pylist() for column in votes.columns), strict=True))
    if hasattr(frame, "to_pylist"):  # a column of lists of PyArrow
        return votes.to_pylist()
    if hasattr(frame, "itertuples"):  # pandas
        return list(votes.itertuples(index=False, name=None))
    if hasattr(frame, "iter_rows"):  # polars
        return votes.rows()
    return votes.to_numpy() if hasattr(votes, "to_numpy") else votes


def _is_list(values: Any) -> bool:
    listed = hasattr(values, "__len__") and not isinstance(values, (str, bytes, dict))
    return listed and getattr(values, "ndim", 1) > 0


def candidates_from_counts(
    counts: sparse.csr_array,
    classes: list[Any],
    min_votes: int = 1,
    fallback: str = "error",
    *,
    weights: bool = True,
) -> CandidateSets:
    """Candidate sets from the number of votes of every row and label; every row has votes."""
    if not isinstance(min_votes, Integral):
        raise ValueError(f"min_votes must be a whole number; got {min_votes!r}.")
    if min_votes < 1:
        raise ValueError(f"min_votes must be at least 1, got {min_votes!r}.")
    if fallback not in ("error", "union"):
        raise ValueError(f"fallback must be 'error' or 'union', got {fallback!r}.")
    _drop_rare_votes(counts, classes, min_votes, fallback)
    table = counts.astype(np.float64 if weights else bool)
    # Results are dense, because the user did not pass a sparse mask.
    return replace(as_candidates(table, classes=classes), sparse_mask=False)


def parse_labels(cell: Any, sep: str | None, row: int) -> set[Any]:
    """Distinct, normalized labels in one cell of a table; an empty set if the cell is empty."""
    if isinstance(cell, str):
        labels = set(split_labels(cell, sep))
        if labels == {""}:
            return set()
        if "" in labels:
            raise ValueError(
                f"Row {row} has an empty label in {shorten_repr(cell)}: remove the extra {sep!r}."
            )
        return labels
    if is_missing(cell):  # before arrays: a masked entry is an array
        return set()
    if isinstance(cell, (list, tuple, set, frozenset, np.ndarray)):
        items = cell.tolist() if isinstance(cell, np.ndarray) else cell
        labels = set()
        for item in items:
            label = _check_label(item, row)
            if label is None:
                raise ValueError(
                    f"Row {row} has a missing label in {shorten_repr(list(items))}: remove it."
                )
            labels.add(label)
        return labels
    label = _check_label(cell, row)
    return set() if label is None else {label}


def parse_weights(cell: Mapping[Any, Any], row: int) -> dict[Any, Any]:
    """Weights by normalized label; a label whose weight is missing is not a candidate."""
    weights: dict[Any, Any] = {}
    for key, weight in cell.items():
        label = _check_label(key, row)
        if label is None or label in weights:
            what = "a missing label" if label is None else f"the label {label!r} twice"
            raise ValueError(f"Row {row} has {what} in {shorten_repr(cell)}: remove it.")
        if not is_missing(weight):
            weights[label] = weight
    return weights


def _check_label(value: Any, row: int) -> Any:
    """Return text, a number or a truth value, or None if missing; reject everything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return normalize_label(value) or None
    if is_missing(value):
        return None
    if not isinstance(value, (bool, int, float)):
        raise ValueError(
            f"Row {row} has {shorten_repr(value)} as a label: labels must be text or numbers, not "
            f"{type(value).__name__}."
        )
    return value


def _drop_rare_votes(
    counts: sparse.csr_array, labels: list[Any], min_votes: int, fallback: str
) -> None:
    """Set counts below ``min_votes`` to zero, in place."""
    enough = counts.data >= min_votes
    # reduceat requires at least one vote in every row.
    short = ~np.logical_or.reduceat(enough, counts.indptr[:-1])
    if short.any() and fallback == "error":
        i = int(np.flatnonzero(short)[0])
        span = slice(counts.indptr[i], counts.indptr[i + 1])
        votes = ", ".join(
            f"{labels[j]!r}: {count}"
            for j, count in zip(counts.indices[span], counts.data[span], strict=True)
        )
        raise ValueError(
            f"In row {i} no label has {min_votes} votes ({votes}). Lower min_votes, or use all "
            'votes of such rows with fallback="union" (--fallback union).'
        )
    enough |= np.repeat(short, np.diff(counts.indptr))
    counts.data[~enough] = 0
    counts.eliminate_zeros()


def order_classes(labels: Collection[Any], classes: Collection[Any] | None) -> list[Any]:
    """The sorted labels, or the given classes, which must contain every label."""
    try:
        names = sorted(labels) if classes is None else _listed_classes(classes)
    except TypeError as error:
        raise ValueError(
            f"The labels have different types and cannot be sorted ({error}): write all as text "
            "or all as numbers, or pass their order as classes=."
        ) from error
    known = set(names)
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise ValueError(
            f"The label {unknown[0]!r} is not among the {len(names)} given classes: add it to the "
            "classes, or correct the votes."
        )
    return names


def _listed_classes(classes: Collection[Any]) -> list[Any]:
    """The given classes, with text normalized as in votes."""
    listed = listed_labels(classes, "classes").tolist()
    names = [normalize_label(name) if isinstance(name, str) else name for name in listed]
    label_positions(label_array(names))
    return names
