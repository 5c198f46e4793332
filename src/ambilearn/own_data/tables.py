"""A user's own table with candidate labels: read with all its cells, and written back."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ambilearn._utils.joined_labels import warn_of_joined_labels
from ambilearn._utils.missing import MISSING_WORDS
from ambilearn._utils.text import counted
from ambilearn.candidates import CandidateSets
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns, read_frame, source_name
from ambilearn.datasets.table import candidate_cells, candidate_sets
from ambilearn.datasets.votes import labels_in_cell
from ambilearn.own_data.columns import Features, find_features
from ambilearn.own_data.corrections import Corrections, correct, read_corrections
from ambilearn.own_data.writing import replaced

if TYPE_CHECKING:
    import pandas as pd

_WRITTEN_BY_CLEAN = ("confidence", "margin", "review_rank")  # beside the label


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
        The true label of each row from the column named ``label``, None where it is not known.
        Only for reports, no method sees it.
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

    def __repr__(self) -> str:
        return (
            f"<CandidateTable {self.name}: {counted(len(self.frame), 'row')}, "
            f"{counted(len(self.features.columns), 'feature')}, "
            f"{counted(self.candidates.n_labels, 'label')}>"
        )


def read_candidate_table(
    source: "str | os.PathLike[str] | IO[Any] | pd.DataFrame",
    *,
    candidates: str | Sequence[str],
    sep: str = "|",
    label: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    min_votes: int = 1,
    na_is_label: bool = False,
    corrections: str | os.PathLike[str] | IO[Any] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
) -> CandidateTable:
    r"""Read a table with candidate labels, keeping every cell as it is.

    Unlike :func:`ambilearn.datasets.read_table`, which gives arrays of numbers, this takes
    categories, truth values, dates and missing cells, and keeps columns that are no features.

    Parameters
    ----------
    source : path-like, file object or DataFrame
        The table: CSV, TSV, Parquet or JSON lines, known by the ending of its name.
    candidates : str or sequence of str
        The column with the candidates of each row, as text (``"anna|bob"``) or, in Parquet and
        JSON, as a list; or several columns, one for each annotator, in which cells may be empty.
    sep : str, default="|"
        What separates the labels in text.
    label : str, optional
        Column with the true label where it is known, for reports only.
    features : sequence of str, optional
        Columns that are features. By default all that have no other role and can help; see
        :func:`ambilearn.own_data.columns.find_features`.
    exclude : sequence of str, default=()
        Columns that are not features.
    categorical : sequence of str, default=()
        Features that are categories even if all their cells are numbers: a code.
    min_votes : int, default=1
        With several annotators: votes that a label needs. Where none has as many, all count.
    na_is_label : bool, default=False
        Whether a cell of candidates that is nothing but ``NA``, ``NaN``, ``null``, ``None`` or the
        like is a label of that name, not a missing cell.
    corrections : path-like or file object, optional
        CSV file of labels that a person chose, as the review page saves it; see
        :func:`ambilearn.own_data.corrections.read_corrections`.
    format, delimiter
        Format of a file whose name does not tell; separator of CSV cells.

    Returns
    -------
    CandidateTable

    Raises
    ------
    InvalidFileError
        Naming the file, the column and the row (counted from 0, without the header).

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.own_data import read_candidate_table
    >>> file = StringIO("id,age,town,names\n07,30,Rome,anna|bob\n08,,Oslo,bob\n09,41,Rome,anna\n")
    >>> table = read_candidate_table(file, candidates="names", exclude=["id"], format="csv")
    >>> table.texts
    ['anna|bob', 'bob', 'anna']
    >>> [(column.name, column.kind) for column in table.features.columns]
    [('age', 'number'), ('town', 'category')]
    >>> table.frame["id"].to_list()
    ['07', '08', '09']
    """
    if not sep:
        raise ValueError("sep must not be empty: give the sign between two labels, such as '|'.")
    if hasattr(source, "columns"):
        name, frame = "table", source
    else:
        name = source_name(source)
        frame = read_frame(source, format=format, delimiter=delimiter, raw=True)
    candidate_columns = [candidates] if isinstance(candidates, str) else list(candidates)
    known = [*candidate_columns, *([label] if label is not None else [])]
    check_columns(name, frame, [*known, *(features or ()), *exclude, *categorical])
    if label in candidate_columns:
        raise ValueError(
            f"Column {label!r} has the candidates: it cannot be the column of known labels, too."
        )
    roles = {*known, *exclude}
    wanted = [column for column in features or frame.columns if column not in roles]
    cells = candidate_cells(name, frame, candidate_columns, na_is_label=na_is_label)
    sets = candidate_sets(
        name, candidate_columns, cells, sep=sep, min_votes=min_votes, fallback="union"
    )
    if np.all(sets.sizes == 1):
        warn_of_joined_labels(sets.classes.tolist())  # perhaps another sign separates them
    texts = candidate_texts(cells, sep)
    found = Corrections()
    if corrections is not None:
        found = read_corrections(corrections, texts, sets.classes)
    return CandidateTable(
        name=name,
        frame=frame,
        candidate_columns=tuple(candidate_columns),
        sep=sep,
        texts=texts,
        candidates=correct(sets, found),
        corrections=found,
        features=_find_features(name, frame, wanted, sets, sep, features is not None, categorical),
        truth=None if label is None else _truth(name, frame, label, sets),
    )


def _find_features(
    name: str,
    frame: "pd.DataFrame",
    wanted: Sequence[str],
    sets: CandidateSets,
    sep: str,
    named: bool,
    categorical: Sequence[str],
) -> Features:
    """The features; unless the user named them, none that tell of the labels."""
    telling: dict[str, str] = {}
    if not named:
        if set(_WRITTEN_BY_CLEAN) <= set(frame.columns):
            telling = dict.fromkeys(("label", *_WRITTEN_BY_CLEAN), "was written by ambilearn clean")
        labels = set(map(str, sets.classes.tolist()))
        for column in wanted:
            if _holds_candidates(frame[column].to_list(), labels, sep):
                telling[column] = "holds candidate labels"
    telling = {column: reason for column, reason in telling.items() if column in wanted}
    others = [column for column in wanted if column not in telling]
    found = find_features(name, frame, others, categorical=categorical, keep_all=named)
    return Features(found.columns, telling | found.left_out)


def _holds_candidates(cells: list[Any], labels: set[str], sep: str) -> bool:
    """Whether cells are sets of labels, several in some cell: the candidates of an earlier step."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    return any(sep in text for text in texts) and all(
        labels.issuperset(part.strip() for part in text.split(sep)) for text in texts
    )


def candidate_texts(rows: Sequence[tuple[Any, ...]], sep: str) -> list[str]:
    """The candidates of each row as the table writes them, in one text."""
    return [sep.join(text for cell in row if (text := _cell_text(cell, sep))) for row in rows]


def _cell_text(cell: Any, sep: str) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (list, tuple, set, frozenset)) or hasattr(cell, "tolist"):
        return sep.join(map(str, cell))
    return "" if cell is None or not labels_in_cell(cell, None, 0) else str(cell)


def _truth(name: str, frame: "pd.DataFrame", column: str, sets: CandidateSets) -> list[Any]:
    unknown = MISSING_WORDS - set(map(str, sets.classes.tolist()))
    truths = []
    for i, cell in enumerate(frame[column].to_list()):
        try:
            labels = labels_in_cell(cell, None, i)
        except ValueError as error:
            raise InvalidFileError(f"{name}, column {column!r}: {error}") from error
        if len(labels) > 1:
            raise InvalidFileError(
                f"{name}, column {column!r}, row {i}: expected one label, found {cell!r}."
            )
        truth = labels.pop() if labels else None
        truths.append(None if truth in unknown else truth)
    return truths


def with_columns(name: str, frame: "pd.DataFrame", columns: dict[str, Any]) -> "pd.DataFrame":
    """The table with further columns at its end; refuse names that it has already."""
    taken = [column for column in columns if column in frame.columns]
    if taken:
        raise InvalidFileError(
            f"{name} has a column {taken[0]!r} already. Give the new columns other names by a "
            "prefix (--prefix)."
        )
    return replaced(frame, columns)
