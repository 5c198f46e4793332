"""Answers of annotators, read from long or wide tables and checked."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ambilearn._utils.array_checks import column_names
from ambilearn._utils.labels import is_missing, listed_labels
from ambilearn._utils.text import pluralize, requires_extra, shorten_list, shorten_repr
from ambilearn._utils.types import Array, Label
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.datasets.label_cells import (
    drop_codes,
    no_answer_codes,
    order_classes,
    parse_labels,
)

_LONG_COLUMNS = {"item", "annotator", "label"}


@dataclass(frozen=True, eq=False, repr=False)
class Votes:
    """The answers of annotators: which annotator gave which label to which item.

    Make votes with :meth:`from_long` or :meth:`from_wide`.

    Parameters
    ----------
    items : ndarray of shape (n_items,)
        Names of the items, in the order of the rows of the features. Items may have no answer.
    annotators : ndarray of shape (n_annotators,)
        Names of the annotators, sorted.
    classes : ndarray of shape (n_labels,)
        The labels.
    item_indices, annotator_indices, label_indices : ndarrays of shape (n_answers,)
        The answers without repetitions, ordered by item, annotator and label. An annotator who
        gave two labels to an item has two answers to it.
    n_repeated : int, default=0
        Number of repeated answers: same item, annotator and label. They are not counted.

    Examples
    --------
    >>> from ambilearn.crowd import Votes
    >>> answers = [("dune", "ann", "sand"), ("dune", "ben", "sand"), ("dune", "cat", "rock")]
    >>> answers += [("reef", "ann", "rock")]
    >>> votes = Votes.from_long(answers, items=["reef", "dune", "lake"])
    >>> votes
    <Votes: 4 answers by 3 annotators to 2 of 3 items, 2 labels>
    >>> list(votes.to_candidates())
    [{'rock': 1.0}, {'rock': 1.0, 'sand': 2.0}, {'rock': 1.0, 'sand': 1.0}]
    """

    items: Array
    annotators: Array
    classes: Array
    item_indices: NDArray[np.intp]
    annotator_indices: NDArray[np.intp]
    label_indices: NDArray[np.intp]
    n_repeated: int = 0

    @classmethod
    def from_long(
        cls,
        answers: Any,
        *,
        item: str = "item",
        annotator: str = "annotator",
        label: str = "label",
        items: ArrayLike | None = None,
        classes: Collection[Label] | None = None,
        no_answer: Any = (),
    ) -> Self:
        """Votes from a table with one answer in each row.

        Parameters
        ----------
        answers : data frame, mapping of columns, or sequence of (item, annotator, label)
            The answers, in any order.
        item, annotator, label : str
            Names of the columns of a data frame.
        items : array-like of shape (n_items,), optional
            The item of each row of the features. By default the items that have an answer, in the
            order of their first answers.
        classes : array-like of shape (n_labels,), optional
            All labels. By default the sorted labels of the answers.
        no_answer : label or collection of labels, default=()
            Codes for no answer, such as -1 or ``"NA"``. A number also matches its text. None, NaN
            and empty text are never answers; any other text is a label unless it is listed here.
            (:func:`ambilearn.tables.read_candidate_table` treats ``NA`` in a file as missing.)

        Returns
        -------
        Votes

        Raises
        ------
        ValueError
            If an item or annotator is missing, a label is invalid, an item is in ``items`` twice,
            or there is no answer. The message has the number of the answer, counted from 0.

        Warns
        -----
        UserWarning
            If there are answers to items that are not in ``items``. They are ignored.

        Examples
        --------
        >>> from ambilearn.crowd import Votes
        >>> answers = [("dune", "ann", "sand"), ("dune", "ben", "NA"), ("reef", "ben", "rock")]
        >>> Votes.from_long(answers).classes.tolist()
        ['NA', 'rock', 'sand']
        >>> Votes.from_long(answers, no_answer="NA").classes.tolist()
        ['rock', 'sand']
        """
        triples = enumerate(_long_triples(answers, (item, annotator, label)))
        return cls._from_triples(triples, items, classes, no_answer)

    @classmethod
    def from_wide(
        cls,
        table: Any,
        *,
        items: ArrayLike | None = None,
        annotators: Collection[Any] | None = None,
        classes: Collection[Label] | None = None,
        no_answer: Any = (),
    ) -> Self:
        """Votes from a table with a row for each item and a column for each annotator.

        Parameters
        ----------
        table : data frame or array-like of shape (n_items, n_annotators)
            One label in each cell, or a collection of labels if the annotator chose several. An
            empty cell (None, NaN, empty text) is no answer.
        items : array-like of shape (n_items,), optional
            Names of the rows. By default their numbers, from 0.
        annotators : collection, optional
            Names of the columns. By default those of a data frame, or their numbers, from 0.
        classes, no_answer
            As for :meth:`from_long`.

        Returns
        -------
        Votes

        Examples
        --------
        >>> from ambilearn.crowd import Votes
        >>> votes = Votes.from_wide([["cat", "cat", -1], ["dog", -1, "fox"]], no_answer=-1)
        >>> votes
        <Votes: 4 answers by 3 annotators to 2 of 2 items, 3 labels>
        """
        columns = column_names(table)
        if columns is not None and set(columns) == _LONG_COLUMNS:
            raise ValueError(
                "The table has the columns item, annotator and label, one answer in each row: read "
                "it with Votes.from_long."
            )
        annotators = columns if annotators is None else annotators
        rows = _as_rows(_rows_of_votes(table))
        widths = {len(row) for row in rows}
        if len(widths) != 1:
            raise ValueError(
                f"The rows of votes have {shorten_list(sorted(widths))} cells: every row needs one "
                "cell for each annotator, None if there is no answer."
                if widths
                else "There are no rows of votes: pass at least one row."
            )
        names = _names_of(annotators, widths.pop(), "annotators", "column").tolist()
        if len(set(names)) != len(names):
            [(twice, _)] = Counter(names).most_common(1)
            raise ValueError(
                f"The annotator {twice!r} has several columns: every annotator needs one column, "
                "with a unique name."
            )
        row_names = _names_of(items, len(rows), "items", "row")
        triples = (
            (i, (row_name, annotator, cell))
            for i, row_name in enumerate(row_names.tolist())
            for annotator, cell in zip(names, rows[i], strict=True)
        )
        return cls._from_triples(triples, row_names, classes, no_answer)

    @classmethod
    def _from_triples(
        cls,
        triples: Iterable[tuple[int, tuple[Any, Any, Any]]],
        items: ArrayLike | None,
        classes: Collection[Label] | None,
        no_answer: Any,
    ) -> Self:
        codes = no_answer_codes(no_answer)
        row_of: dict[Label, int] = {}
        if items is not None:
            for i, name in enumerate(_as_names(items).tolist()):
                if is_missing(name):
                    raise ValueError(f"Row {i} of items is missing ({name!r}): name every item.")
                if row_of.setdefault(name, i) != i:
                    raise ValueError(
                        f"The item {name!r} is in rows {row_of[name]} and {i}: list every item "
                        "once."
                    )
        unknown: dict[Label, int] = {}
        seen: dict[tuple[int, Any, Any], None] = {}
        n_answers = 0
        for i, (item, annotator, cell) in triples:
            labels = parse_labels(drop_codes(cell, codes), None, i)
            if not labels:
                continue
            item = _check_name(item, "item", i)
            annotator = _check_name(annotator, "annotator", i)
            if items is not None and item not in row_of:
                unknown[item] = unknown.get(item, 0) + len(labels)
                continue
            row = row_of.setdefault(item, len(row_of))
            n_answers += len(labels)
            seen.update(dict.fromkeys((row, annotator, label) for label in labels))
        _report_unknown(unknown, list(row_of), bool(seen))
        names = order_classes({label for _, _, label in seen}, classes)
        people = _sort_people({annotator for _, annotator, _ in seen})
        column = {label: j for j, label in enumerate(names)}
        person = {annotator: a for a, annotator in enumerate(people)}
        indices = np.array(
            sorted((row, person[annotator], column[label]) for row, annotator, label in seen),
            dtype=np.intp,
        )
        return cls(
            _as_names(list(row_of)),
            _as_names(people),
            _as_names(names),
            indices[:, 0].copy(),
            indices[:, 1].copy(),
            indices[:, 2].copy(),
            n_answers - len(seen),
        )

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        answered = int((self.answers_per_item > 0).sum())
        return (
            f"<Votes: {pluralize(self.n_answers, 'answer')} by "
            f"{pluralize(len(self.annotators), 'annotator')} to {answered:,} of "
            f"{pluralize(len(self), 'item')}, {pluralize(len(self.classes), 'label')}>"
        )

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self.item_indices)

    @cached_property
    def answers_per_item(self) -> NDArray[np.intp]:
        """Number of answers to each item, shape (n_items,)."""
        return np.bincount(self.item_indices, minlength=len(self))

    @property
    def unanswered(self) -> Array:
        """Names of the items without an answer."""
        return self.items[self.answers_per_item == 0]

    def counts(self) -> sparse.csr_array:
        """Answers for every item and label, shape (n_items, n_labels)."""
        ones = np.ones(self.n_answers, dtype=np.int64)
        shape = len(self), len(self.classes)
        return sparse.csr_array((ones, (self.item_indices, self.label_indices)), shape=shape)

    def to_candidates(
        self, *, min_votes: int = 1, fallback: str = "error", weights: bool = True
    ) -> CandidateSets:
        """Candidate sets with the counts as weights; all labels for an item without answers.

        Parameters
        ----------
        min_votes, fallback, weights
            As for :func:`ambilearn.votes_to_candidates`.

        Returns
        -------
        CandidateSets
        """
        if not isinstance(min_votes, Integral):
            raise ValueError(f"min_votes must be a whole number; got {min_votes!r}.")
        if min_votes < 1:
            raise ValueError(f"min_votes must be at least 1, got {min_votes!r}.")
        if fallback not in ("error", "union"):
            raise ValueError(f"fallback must be 'error' or 'union', got {fallback!r}.")
        counts = self.counts()
        empty = np.flatnonzero(self.answers_per_item == 0)
        if len(empty):
            anything = sparse.lil_array(counts.shape, dtype=np.int64)
            anything[empty] = min_votes  # so every label is a candidate
            counts = sparse.csr_array(counts + anything)
        names = self.classes.tolist()
        _drop_rare_votes(counts, names, min_votes, fallback)
        table = counts.astype(np.float64 if weights else bool)
        # Results are dense, because the user did not pass a sparse mask.
        return replace(as_candidates(table, classes=names), sparse_mask=False)

    def to_frame(self) -> Any:
        """Data frame with the columns item, annotator and label, and one answer in each row."""
        with requires_extra("data", purpose="A table of votes"):
            import pandas as pd

        return pd.DataFrame(
            {
                "item": self.items[self.item_indices],
                "annotator": self.annotators[self.annotator_indices],
                "label": self.classes[self.label_indices],
            }
        )


def votes_to_candidates(
    votes: Any,
    *,
    min_votes: int = 1,
    fallback: str = "error",
    classes: Collection[Label] | None = None,
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
    rows = _as_rows(_rows_of_votes(votes))
    widest = max(map(len, rows), default=0)
    padded = [[*row, *[None] * (widest - len(row))] for row in rows]
    read = Votes.from_wide(padded, classes=classes, no_answer=no_answer)
    if len(read.unanswered):
        raise ValueError(
            f"Row {read.unanswered[0]} has no candidate label. Drop the row, or fill it in."
        )
    return read.to_candidates(min_votes=min_votes, fallback=fallback, weights=weights)


def as_votes(votes: Any) -> Votes:
    """Votes unchanged, and any other table read by :meth:`Votes.from_wide`."""
    return votes if isinstance(votes, Votes) else Votes.from_wide(votes)


def _long_triples(answers: Any, names: tuple[str, str, str]) -> list[tuple[Any, Any, Any]]:
    """The answers as triples, from a data frame, a mapping of columns, or rows of three."""
    keys = list(answers) if isinstance(answers, dict) else column_names(answers)
    if keys is not None:
        _check_keys(keys, names)
        columns = [list(_as_list(answers[name])) for name in names]
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"The columns {shorten_list(names)} of the answers have {shorten_list(lengths)} "
                "entries: give every answer an item, an annotator and a label."
            )
        return list(zip(*columns, strict=True))
    rows = _as_rows(answers)
    for i, row in enumerate(rows):
        if isinstance(row, str) or len(row) != 3:
            raise ValueError(
                f"Answer {i} is {row!r}: pass (item, annotator, label), or a data frame."
            )
    return [tuple(row) for row in rows]


def _check_keys(keys: list[Any], names: tuple[str, str, str]) -> None:
    """Raise an error if the three columns are not different columns of the answers."""
    for name in names:
        if name not in keys:
            raise ValueError(
                f"The answers have no column {name!r}; they have {shorten_list(keys)}. "
                "Pass the names of the columns as item=, annotator= and label=."
            )
        if names.count(name) > 1:
            raise ValueError(
                f"The column {name!r} is named more than once: item, annotator and label need a "
                "column each."
            )
        if keys.count(name) > 1:
            raise ValueError(
                f"The answers have {keys.count(name)} columns {name!r}: rename or drop all but one."
            )


def _drop_rare_votes(
    counts: sparse.csr_array, labels: list[Label], min_votes: int, fallback: str
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


def _rows_of_votes(votes: Any) -> Any:
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


def _as_rows(table: Any) -> list[Any]:
    if sparse.issparse(table):
        raise ValueError(
            "The votes are a sparse matrix, in which the label 0 and no answer are the same: pass "
            "an array, with NaN or a code of no_answer= for no answer."
        )
    is_list = hasattr(table, "__len__") and not isinstance(table, (str, bytes, dict))
    if not is_list or getattr(table, "ndim", 1) == 0:
        raise ValueError(f"The votes are {shorten_repr(table)}: pass a list of votes per row.")
    rows = table.tolist() if isinstance(table, np.ndarray) else list(table)
    for i, row in enumerate(rows):
        if not isinstance(row, (list, tuple, np.ndarray)) or row is np.ma.masked:
            raise ValueError(f"Row {i} of the votes is {row!r}: pass a list for each row.")
    return rows


def _as_list(column: Any) -> Any:
    if hasattr(column, "to_pylist"):  # pyarrow
        return column.to_pylist()
    return column.tolist() if hasattr(column, "tolist") else column


def _as_names(names: Any, what: str = "items") -> Array:
    """Names as an array that keeps the types of text and numbers, also if they are mixed."""
    return listed_labels(_as_list(names), what)


def _names_of(given: Any, n: int, what: str, unit: str) -> Array:
    """Given names of the rows or columns of votes; by default their numbers."""
    if given is None:
        return np.arange(n)
    names = _as_names(given, what)
    if len(names) != n:
        raise ValueError(
            f"{what} has {pluralize(len(names), 'name')}, but there are {pluralize(n, unit)} of "
            f"votes: pass one name per {unit}."
        )
    return names


def _check_name(value: Any, kind: str, answer: int) -> Any:
    """The name of an item or annotator as a Python object; an error if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        raise ValueError(f"Answer {answer} has no {kind}: fill it in, or drop the answer.")
    return value


def _sort_people(annotators: set[Any]) -> list[Any]:
    """The annotators in an order that does not depend on the order of the answers."""
    try:
        return sorted(annotators, key=lambda name: (str(type(name)), name))
    except TypeError as error:
        raise ValueError(
            f"The annotators cannot be sorted ({error}): name them by texts or numbers."
        ) from error


def _report_unknown(unknown: dict[Label, int], known: list[Any], any_left: bool) -> None:
    """Warn of answers that are ignored; raise an error if there is no other answer."""
    names = shorten_list([repr(name) for name in unknown], 3)
    if not any_left:
        raise ValueError(
            "There is no answer at all: every one is missing or a code for no answer."
            if not unknown
            else f"No answer is to one of the {pluralize(len(known), 'item')} of the features: "
            f"the answers are to {names}, the features have "
            f"{shorten_list([repr(name) for name in known], 3)}. Are the names of the same type, "
            "text or numbers, in both?"
        )
    if unknown:
        warn_user(
            f"{pluralize(sum(unknown.values()), 'answer')} to "
            f"{pluralize(len(unknown), 'item')} without features left out: {names}."
        )
