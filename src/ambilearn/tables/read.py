"""A user's table: from a file to candidate sets and features, with every cell kept."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.label_text import split_labels
from ambilearn._utils.missing import MISSING_WORDS
from ambilearn._utils.text import pluralize, shorten_repr
from ambilearn.candidates import CandidateSets
from ambilearn.confidence.calibration import Calibration
from ambilearn.crowd.votes import Votes
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import (
    check_columns,
    check_frame,
    check_text_columns,
    read_frame,
    source_name,
)
from ambilearn.datasets.no_answer import whole_number_text
from ambilearn.datasets.votes import parse_labels
from ambilearn.tables.candidate_columns import (
    CandidateColumns,
    expand_patterns,
    parse_candidates,
)
from ambilearn.tables.columns import Column, Features, find_features, parse_features
from ambilearn.tables.corrections import Corrections, apply_corrections, read_corrections
from ambilearn.tables.writing import replace_columns

if TYPE_CHECKING:
    import pandas as pd

FILE_NAME = "name of the file"  # in the attributes of a data frame that was read from one
_ALWAYS_WRITTEN = ("label", "score", "confidence", "margin")  # by clean and predict
_WRITTEN = (*_ALWAYS_WRITTEN, "doubt", "suggestion", "review_rank")


@dataclass(frozen=True, eq=False, repr=False)
class CandidateTable:
    """A table whose rows have candidate labels.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    frame : DataFrame
        All columns and rows as the file has them.
    candidate_columns : tuple of str
        The columns with the candidates.
    sep : str
        What separates the labels in text.
    texts : list of str
        The candidates of each row as the table writes them: the cell itself, list items and the
        cells of several columns joined by ``sep``, without missing ones.
    candidates : CandidateSets
        The candidate sets, after corrections.
    corrections : Corrections
        Rows whose label a person chose.
    features : Features
        The columns that are features, their kinds, and why others are left out.
    truth : list or None
        The true label of each row from the column named ``label``, None where it is not known. Only
        for reports; methods do not use it.
    label_column : str or None
        The column that ``truth`` is from.
    two_votes : CandidateSets or None
        Candidate sets of the labels with at least two votes (of all labels, if none has two). Only
        if there are several vote columns, ``min_votes`` is not given and the sets differ; a search
        may use them instead of ``candidates``.
    votes : Votes or None
        Votes of the annotators, if there are several.
    unjudged : CandidateSets or None
        The candidate sets before the quality of annotators was estimated, if it was.
    decimal : str
        Decimal sign of numbers in text.
    calibration : Calibration or None
        Confidences, if they are known before a method is fitted: from the estimated quality of
        annotators.
    image_folders : tuple of Path
        Folders besides that of the table from which images are allowed.
    judged : ndarray of shape (n_rows, n_labels) or None
        Confidence of every label of ``votes``, if the quality of the annotators was estimated.
    """

    name: str
    frame: "pd.DataFrame"
    candidate_columns: tuple[str, ...]
    sep: str
    texts: list[str]
    candidates: CandidateSets
    corrections: Corrections
    features: Features
    truth: list[Any] | None = None
    label_column: str | None = None
    two_votes: CandidateSets | None = None
    votes: Votes | None = None
    unjudged: CandidateSets | None = None
    decimal: str = "."
    calibration: Calibration | None = None
    image_folders: tuple[Path, ...] = ()
    judged: NDArray[np.float64] | None = None

    @cached_property
    def X(self) -> "pd.DataFrame":  # noqa: N802, the name that scikit-learn gives it
        """The features: float64 with NaN for missing cells, categories and texts as text.

        If all features are numbers and none is missing, pass it to an estimator directly; otherwise
        convert it with :func:`ambilearn.tables.preprocessing.make_preprocessing`.
        """
        return parse_features(
            self.name, self.frame, self.features.columns, self.decimal, self.image_folders
        )

    @property
    def given(self) -> CandidateSets:
        """The candidate sets as they were given: the answers, where annotators were judged."""
        return self.candidates if self.unjudged is None else self.unjudged

    def score_candidates(self, method: Any) -> NDArray[np.float64]:
        """Score of every candidate: by the judged annotators, or as a fitted method learned it."""
        if self.calibration is not None and self.calibration.cleaned is not None:
            return self.calibration.cleaned
        from ambilearn.backend import HOST  # with the solvers, which reading does not need

        learned: NDArray[np.float64] = HOST.support(self.candidates).gather(
            method.label_distributions_
        )
        return learned

    def with_min_votes(self, min_votes: int) -> "CandidateTable":
        """The table as it is (1), or with ``two_votes`` as its candidates (2)."""
        if min_votes == 1 or self.two_votes is None:
            return self
        return replace(self, candidates=self.two_votes, two_votes=None)

    def __repr__(self) -> str:
        return (
            f"<CandidateTable {self.name}: {pluralize(len(self.frame), 'row')}, "
            f"{pluralize(len(self.features.columns), 'feature')}, "
            f"{pluralize(len(self.candidates.classes), 'label')}>"
        )


def read_candidate_table(
    source: "str | os.PathLike[str] | IO[Any] | pd.DataFrame",
    *,
    candidates: str | Sequence[str] | None = None,
    given_label: str | None = None,
    sep: str = "|",
    label: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    image: str | None = None,
    image_folders: Sequence[str | os.PathLike[str]] = (),
    min_votes: int | None = None,
    fallback: str = "error",
    na_is_label: bool = False,
    no_answer: Sequence[Any] = (),
    corrections: str | os.PathLike[str] | IO[Any] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
) -> CandidateTable:
    r"""Read a table with candidate labels: CSV, TSV, Excel, Parquet or JSON lines.

    Features may be numbers, categories, booleans, dates, sentences and lists of numbers; cells may
    be missing. All columns are kept unchanged, including those that are not features.

    Parameters
    ----------
    source : path-like, file object or DataFrame
        The table. The format is inferred from the file extension (``.csv``, ``.tsv``, ``.parquet``,
        ``.jsonl``, ``.xlsx``). A data frame must be one of pandas, with column names that are text.
    candidates : str or sequence of str
        The column with the candidates of each row, as text (``"anna|bob"``) or, in Parquet and
        JSON, as a list; or several columns, one for each annotator, in which cells may be empty; a
        row without any answer may then have any label.
        A name such as ``"A*"`` selects all columns that match it.
    given_label : str, optional
        Instead of ``candidates``: the column with the one label of each row, some of which may be
        wrong; see :func:`ambilearn.tables.correct_table`.
    sep : str, default="|"
        What separates the labels in text.
    label : str, optional
        Column with the true label where it is known, for reports only: never a feature.
    features : str or sequence of str, optional
        Columns that are features. By default all that have no other role and can help; see
        :func:`ambilearn.tables.columns.find_features`.
    exclude : str or sequence of str, default=()
        Columns that are not features, such as an id or a comment.
    categorical : str or sequence of str, default=()
        Features that are categories even if all their cells are numbers, such as codes.
    image : str, optional
        Column with names of image files, which then is the only feature: for
        :class:`~ambilearn.DeepPLCL`. Paths are relative to the folder of the table, and only files
        in this folder and its subfolders are read.
    image_folders : sequence of path-like, default=()
        Further folders from which images are allowed. A relative path that is not found in the
        folder of the table is looked up there.
    min_votes : int, optional
        With several annotators: votes that a label needs. One by default; a search for parameters
        then also tries two.
    fallback : {"error", "union"}, default="error"
        What to do with a row in which no label has enough votes: raise an error, or take all its
        votes.
    na_is_label : bool, default=False
        Whether a cell of candidates that is nothing but ``NA``, ``NaN``, ``null``, ``None`` or the
        like is a label of that name (Namibia), not a missing cell. Among other labels, as in
        ``"NA|ZA"``, and in a list such a word is always a label.
    no_answer : sequence, default=()
        Codes in the cells of candidates that mean no answer, such as ``"-1"``, alone or among
        labels.
    corrections : path-like or file object, optional
        CSV file of labels that a person chose, as the review page saves it; see
        :func:`ambilearn.tables.corrections.read_corrections`.
    format, delimiter
        File format, if it cannot be inferred from the file name; separator of CSV cells.
    decimal : {".", ","}, default="."
        Decimal separator of features that are numbers in text. With a comma, a cell such as
        ``1.234`` is rejected as ambiguous.

    Returns
    -------
    CandidateTable
        With the candidate sets in ``candidates`` and the features in ``X``, for any method:
        ``method.fit(table.X, table.candidates)``. Labels of a CSV or Excel file are always
        text. The text of labels is normalized, in the table, in ``no_answer`` and in corrections:
        form NFC, no blanks around it, no zero-width space, word joiner or byte-order mark, and a
        space for a no-break space.

    Raises
    ------
    InvalidFileError
        Naming the file, the column and the row (counted from 0, without the header).

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import read_candidate_table
    >>> file = StringIO("id,age,town,names\n07,30,Rome,anna|bob\n08,,Oslo,bob\n09,41,Rome,anna\n")
    >>> table = read_candidate_table(file, candidates="names", exclude=["id"], format="csv")
    >>> [sorted(labels) for labels in table.candidates.to_sets()]
    [['anna', 'bob'], ['bob'], ['anna']]
    >>> [(column.name, column.kind) for column in table.features.columns]
    [('age', 'number'), ('town', 'category')]
    >>> table.frame["id"].to_list()
    ['07', '08', '09']
    """
    given = _check_named(candidates, given_label, image, features or categorical)
    name, frame = read_source(source, format, delimiter)
    columns, wanted = _assign_roles(name, frame, given, label, features, exclude, categorical)
    votes_needed = 1 if min_votes is None else min_votes
    answers: dict[str, Any] = {
        "fallback": fallback,
        "na_is_label": na_is_label,
        "no_answer": no_answer,
    }
    parsed = parse_candidates(name, frame, columns, sep=sep, min_votes=votes_needed, **answers)
    sets, texts, votes = parsed
    found = read_corrections(corrections, texts, sets.classes, sep=sep)
    if image is None:
        kept = _find_features(name, frame, wanted, sets, sep, bool(features), categorical, decimal)
    else:
        kept = _only_images(name, frame, wanted, image)
    return CandidateTable(
        name=name,
        frame=frame,
        candidate_columns=tuple(columns),
        sep=sep,
        texts=texts,
        candidates=apply_corrections(sets, found),
        corrections=found,
        features=kept,
        truth=None if label is None else parse_truth(name, frame, label, sets.classes),
        label_column=label,
        two_votes=_two_votes(parsed, found) if min_votes is None else None,
        votes=votes,
        decimal=decimal,
        image_folders=tuple(map(Path, image_folders)),
    )


def _check_named(
    candidates: str | Sequence[str] | None, given_label: str | None, image: str | None, named: Any
) -> str | Sequence[str]:
    """The columns with the labels; raise an error if the named columns cannot be combined."""
    given = [column for column in (candidates, given_label) if column is not None]
    if len(given) != 1:
        raise ValueError("Pass either candidates or given_label, the column with the labels.")
    if image is not None and named:
        raise ValueError(
            "features and categorical cannot be combined with image: a network learns from the "
            "images alone. Leave them out."
        )
    return given[0]


def read_source(
    source: Any, format: str | None, delimiter: str | None
) -> tuple[str, "pd.DataFrame"]:
    """Name and content of a file; a data frame is returned as it is."""
    if hasattr(source, "columns"):
        name = getattr(source, "attrs", {}).get(FILE_NAME, "table")
        check_frame(name, source)
        check_text_columns(name, source)
        return name, source
    return source_name(source), read_frame(source, format=format, delimiter=delimiter)


def _assign_roles(
    name: str,
    frame: "pd.DataFrame",
    candidates: str | Sequence[str],
    label: str | None,
    features: Sequence[str] | None,
    exclude: Sequence[str],
    categorical: Sequence[str],
) -> tuple[list[str], list[str]]:
    """The columns with candidates, and the columns that may be features."""
    candidate_columns = expand_patterns(name, frame, _as_list(candidates))
    named, exclude, categorical = map(_as_list, (features or (), exclude, categorical))
    known = [*candidate_columns, *([label] if label is not None else [])]
    check_columns(name, frame, [*known, *named, *exclude, *categorical])
    if named and (others := [column for column in categorical if column not in named]):
        raise ValueError(
            f"Column {others[0]!r} is categorical, but not among the named features: add it to "
            "features (--features)."
        )
    if named and (others := [column for column in named if column in known]):
        raise ValueError(
            f"Column {others[0]!r} has the candidates or the true labels: it cannot be a feature, "
            "too. Leave it out of features (--features)."
        )
    if label in candidate_columns:
        raise ValueError(
            f"Column {label!r} has the candidates: it cannot be the column of true labels, too."
        )
    roles = {*known, *exclude}
    return candidate_columns, [c for c in named or frame.columns if c not in roles]


def _two_votes(parsed: CandidateColumns, corrections: Corrections) -> CandidateSets | None:
    """Candidate sets of labels with two votes, if there are votes and these sets are smaller."""
    if parsed.votes is None:
        return None
    sets = parsed.votes.to_candidates(min_votes=2, fallback="union")
    return (
        apply_corrections(sets, corrections) if len(sets.labels) < len(parsed.sets.labels) else None
    )


def _as_list(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _find_features(
    name: str,
    frame: "pd.DataFrame",
    wanted: Sequence[str],
    sets: CandidateSets,
    sep: str,
    named: bool,
    categorical: Sequence[str],
    decimal: str,
) -> Features:
    """The features; unless the user named them, without columns that hold labels."""
    if decimal not in (".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.")
    telling: dict[str, str] = {}
    if not named:
        telling = dict.fromkeys(_written_before(frame.columns), "was written by ambilearn")
        labels = set(map(str, sets.classes.tolist()))
        for column in wanted:
            if _holds_candidates(frame[column].to_list(), labels, sep):
                telling[column] = "holds candidate labels"
    telling = {column: reason for column, reason in telling.items() if column in wanted}
    others = [column for column in wanted if column not in telling]
    found = find_features(
        name, frame, others, categorical=_as_list(categorical), keep_all=named, decimal=decimal
    )
    return Features(found.columns, telling | found.left_out)


def _written_before(columns: Iterable[str]) -> list[str]:
    """Columns of an earlier ``clean`` or ``predict``, with any prefix."""
    known = set(columns)
    prefixes = [name.removesuffix("score") for name in known if name.endswith("score")]
    return [
        f"{prefix}{name}"
        for prefix in prefixes
        if known.issuperset(f"{prefix}{name}" for name in _ALWAYS_WRITTEN)
        for name in _WRITTEN
    ]


def _only_images(name: str, frame: "pd.DataFrame", wanted: Sequence[str], image: str) -> Features:
    """The column of images as the only feature."""
    check_columns(name, frame, [image])
    if image not in wanted:
        raise ValueError(
            f"Column {image!r} cannot hold the images: it holds candidates or true labels, or is "
            "excluded."
        )
    others = dict.fromkeys(wanted, "is ignored, because the network learns from the images only")
    del others[image]
    return Features((Column(image, "image"),), others)


def _holds_candidates(cells: list[Any], labels: set[str], sep: str) -> bool:
    """Whether cells are sets of labels, several in some cell: the candidates of an earlier step."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    return any(sep in text for text in texts) and all(
        labels.issuperset(split_labels(text, sep)) for text in texts
    )


def parse_truth(name: str, frame: "pd.DataFrame", column: str, labels: Iterable[Any]) -> list[Any]:
    """The true label of each row, None where it is not known.

    A word for missing is a label if it is among the labels of the table.
    """
    names = set(map(str, labels))
    unknown = MISSING_WORDS - names
    truths = []
    for i, cell in enumerate(frame[column].to_list()):
        try:
            found = parse_labels(cell, None, i)
        except ValueError as error:
            raise InvalidFileError(f"{name}, column {column!r}: {error}") from error
        if len(found) > 1:
            raise InvalidFileError(
                f"{name}, column {column!r}, row {i}: expected one label, found "
                f"{shorten_repr(cell)}. "
                "Leave the cell empty where the true label is not known."
            )
        truth = found.pop() if found else None
        if isinstance(truth, str) and truth not in names and whole_number_text(truth) in names:
            truth = whole_number_text(truth)
        truths.append(None if truth in unknown else truth)
    return truths


def append_columns(name: str, frame: "pd.DataFrame", columns: dict[str, Any]) -> "pd.DataFrame":
    """The table with further columns at its end; an error if it has their names already."""
    taken = [column for column in columns if column in frame.columns]
    if taken:
        raise InvalidFileError(
            f"{name} has a column {taken[0]!r} already. Give the new columns other names with a "
            "prefix (--prefix)."
        )
    return replace_columns(frame, columns)
