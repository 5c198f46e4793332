"""The user's own table: features, candidate sets and perhaps a known label, from one file."""

import os
from collections.abc import Sequence, Set
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.missing import MISSING_WORDS, is_missing
from ambilearn._utils.text import counted, few
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns, read_frame, source_name
from ambilearn.datasets.record import Dataset
from ambilearn.datasets.votes import candidates_from_cells, labels_in_cell

if TYPE_CHECKING:
    import pandas as pd


def read_table(
    source: str | os.PathLike[str] | IO[Any],
    *,
    candidates: str | Sequence[str],
    sep: str = "|",
    label: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    min_votes: int = 1,
    fallback: str = "error",
    na_is_label: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
) -> Dataset:
    r"""Read a table of one's own: CSV, Parquet or JSON lines, with a column of candidate labels.

    Parameters
    ----------
    source : path-like or file object
        The table. Its format is known by the ending (``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``).
    candidates : str or sequence of str
        The column with the candidates of each row, as text (``"anna|bob"``) or, in Parquet and
        JSON, as a list; or several columns, one for each annotator, in which cells may be empty.
    sep : str, default="|"
        What separates the labels in text.
    label : str, optional
        Column with the true label, where it is known: becomes ``y``, never a feature.
    features : sequence of str, optional
        Columns that are features. By default all that have no other role.
    exclude : sequence of str, default=()
        Columns that are not features: an id, a comment.
    min_votes, fallback
        With several annotators: see :func:`votes_to_candidates`.
    na_is_label : bool, default=False
        Whether a cell of candidates that is nothing but ``NA``, ``NaN``, ``null``, ``None`` or the
        like is a label of that name (Namibia), not a missing cell. Among other labels, as in
        ``"NA|ZA"``, and in a list such a word is always a label.
    format, delimiter
        Format of a file whose name does not tell; separator of CSV cells.

    Returns
    -------
    Dataset
        Labels of a CSV file are always text. Missing features are NaN.

    Raises
    ------
    InvalidFileError
        Naming the file, the column and the row (counted from 0, without the header).

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.datasets import read_table
    >>> file = StringIO("height,width,names\n1.0,2.5,anna|bob\n0.5,1.5,bob\n")
    >>> data = read_table(file, candidates="names", format="csv")
    >>> data.X
    array([[1. , 2.5],
           [0.5, 1.5]])
    >>> [sorted(labels) for labels in data.candidates.to_sets()]
    [['anna', 'bob'], ['bob']]
    """
    name = source_name(source)
    if not sep:
        raise ValueError("sep must not be empty: give the sign between two labels, such as '|'.")
    candidate_columns = [candidates] if isinstance(candidates, str) else list(candidates)
    known = [*candidate_columns, *([label] if label is not None else [])]
    frame = read_frame(source, format=format, delimiter=delimiter, text_columns=tuple(known))
    exclude = [exclude] if isinstance(exclude, str) else list(exclude)
    check_columns(name, frame, [*known, *(features or ()), *exclude])
    if features is None:
        features = [column for column in frame.columns if column not in {*known, *exclude}]
    if not len(features):
        raise InvalidFileError(
            f"{name}: no column is left as a feature. Features are all columns but those of "
            "candidates, label and exclude."
        )
    cells = candidate_cells(name, frame, candidate_columns, na_is_label=na_is_label)
    sets = candidate_sets(
        name, candidate_columns, cells, sep=sep, min_votes=min_votes, fallback=fallback
    )
    return Dataset(
        X=np.column_stack([_numbers(name, frame[column]) for column in features]),
        candidates=sets,
        y=None if label is None else _true_labels(name, frame[label], sets),
        classes=sets.classes,
        name=Path(name).stem,
        source=name,
        feature_names=tuple(map(str, features)),
    )


def candidate_cells(
    name: str, frame: "pd.DataFrame", columns: Sequence[str], *, na_is_label: bool = False
) -> list[tuple[Any, ...]]:
    """Cells with candidates, row by row; a word that means a missing cell becomes None.

    Raises
    ------
    InvalidFileError
        If there is one column, and cells are missing. Names the rows.

    Warns
    -----
    UserWarning
        If there are several columns, and words are read as missing: an annotator without a vote.
    """
    rows = list(zip(*(frame[column].to_list() for column in columns), strict=True))
    words = frozenset() if na_is_label else MISSING_WORDS
    where = f"{name}, candidates in {', '.join(map(repr, columns))}"
    if len(columns) == 1 and (missing := _rows_with(rows, words | {""})):
        raise InvalidFileError(f"{where}: {_without_candidates(missing)}")
    if unvoted := _rows_with(rows, words):
        warn_user(
            f"{where}: {_read_as_missing(unvoted)} There is no vote in such cells, in "
            f"{counted(len(unvoted), 'row')}: {few(list(unvoted))}."
        )
        rows = [tuple(None if _is_one_of(cell, words) else cell for cell in row) for row in rows]
    return rows


def _is_one_of(cell: Any, words: Set[str]) -> bool:
    return isinstance(cell, str) and cell.strip() in words


def _rows_with(rows: list[tuple[Any, ...]], words: Set[str]) -> dict[int, str]:
    """Rows in which a cell is nothing but one of the words, and the word."""
    return {
        i: cell.strip() for i, row in enumerate(rows) for cell in row if _is_one_of(cell, words)
    }


def _without_candidates(missing: dict[int, str]) -> str:
    if len(missing) == 1:
        text = (
            f"Row {next(iter(missing))} has no candidate label at all. Drop the row, or fill it in."
        )
    else:
        text = (
            f"Rows {few(list(missing))} have no candidate label at all. Drop the {len(missing)} "
            "rows, or fill them in."
        )
    return f"{text} {_read_as_missing(missing)}" if any(missing.values()) else text


def _read_as_missing(missing: dict[int, str]) -> str:
    words = " or ".join(repr(word) for word in sorted(set(missing.values())) if word)
    return (
        f"A cell {words} is read as missing; if that is a label, say so by na_is_label=True "
        "(--na-is-label)."
    )


def candidate_sets(
    name: str, columns: Sequence[str], cells: list[tuple[Any, ...]], **options: Any
) -> CandidateSets:
    """Candidate sets from columns of a table; see :func:`candidates_from_cells` for options."""
    try:
        return candidates_from_cells(cells, **options)
    except ValueError as error:
        where = ", ".join(map(repr, columns))
        raise InvalidFileError(f"{name}, candidates in {where}: {error}") from error


def _numbers(name: str, column: "pd.Series") -> NDArray[np.float64]:
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    numbers = np.empty(len(column))
    for i, value in enumerate(column.to_list()):  # rare: some cell is empty or no number
        try:
            numbers[i] = number_in_cell(value)
        except (ValueError, TypeError):
            raise InvalidFileError(
                f"{name}, column {column.name!r}, row {i}: {value!r} is not a number. Features "
                "must be numbers: encode the column, or leave it out by exclude=."
            ) from None
    return numbers


def number_in_cell(value: Any) -> float:
    """Number in one cell of a table, NaN if it is missing; anything else is an error."""
    if isinstance(value, str):
        value = value.strip()
        if not value or value in MISSING_WORDS:
            return np.nan
        if "_" in value:  # Python would read 1_000 as a number
            raise ValueError
        return float(value)
    if is_missing(value):
        return np.nan
    if not isinstance(value, (bool, int, float, Decimal)):
        raise TypeError
    return float(value)


def _true_labels(name: str, column: "pd.Series", sets: CandidateSets) -> NDArray[Any]:
    truths = []
    for i, cell in enumerate(column.to_list()):
        try:
            (truth,) = labels_in_cell(cell, None, i)
        except ValueError:
            raise InvalidFileError(
                f"{name}, column {column.name!r}, row {i}: expected one label, found {cell!r}. The "
                "column of true labels needs exactly one in each row."
            ) from None
        truths.append(truth)
    outside = np.flatnonzero(~sets.covers(np.asarray(truths, dtype=object)))
    if len(outside):
        i = int(outside[0])
        raise InvalidFileError(
            f"{name}, column {column.name!r}, row {i}: the label {truths[i]!r} is not among the "
            "candidates of the row. Add it to them, or drop the row."
        )
    position = {label: j for j, label in enumerate(sets.classes.tolist())}
    return sets.classes[[position[truth] for truth in truths]]
