"""Columns of a table as candidate sets: labels in text, in lists, or one column an annotator."""

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from ambilearn._utils.missing import MISSING_WORDS
from ambilearn._utils.text import pluralize, shorten_list
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets
from ambilearn.crowd.votes import Votes
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.no_answer import (
    WHOLE_NUMBER,
    drop_codes,
    no_answer_codes,
    whole_number_text,
)
from ambilearn.datasets.votes import candidates_from_cells, parse_labels
from ambilearn.own_data.candidate_checks import warn_of_doubtful_candidates

if TYPE_CHECKING:
    import pandas as pd


class CandidateColumns(NamedTuple):
    """The candidates of a table.

    Attributes
    ----------
    sets : CandidateSets
        The candidate sets.
    texts : list of str
        The candidates of each row as the table writes them, in one text.
    """

    sets: CandidateSets
    texts: list[str]


def parse_candidates(
    name: str,
    frame: "pd.DataFrame",
    columns: Sequence[str],
    *,
    sep: str = "|",
    min_votes: int = 1,
    fallback: str = "error",
    na_is_label: bool = False,
    no_answer: Sequence[Any] = (),
) -> CandidateColumns:
    """Candidate sets from one column of a table, or from several with the votes of annotators.

    Parameters
    ----------
    name : str
        Name of the table, for messages.
    frame : DataFrame
        The table.
    columns : sequence of str
        The columns with candidates.
    sep, min_votes, fallback, na_is_label, no_answer
        As for :func:`ambilearn.own_data.read_candidate_table`.

    Returns
    -------
    CandidateColumns

    Raises
    ------
    InvalidFileError
        For a row without candidates, without enough votes, or with something that is no label.
        Names the columns and the rows.

    Warns
    -----
    UserWarning
        If there are several columns and words are read as missing, an annotator without a vote; or
        if the candidates are proper but doubtful:
        :func:`ambilearn.own_data.candidate_checks.warn_of_doubtful_candidates`.
    """
    if not sep:
        raise ValueError("sep must not be empty: give the sign between two labels, such as '|'.")
    if min_votes > 1 and len(columns) == 1:
        # It would refuse every row, or do nothing: a label is in a cell once.
        raise ValueError(
            f"min_votes={min_votes} counts votes over several columns, one for each annotator, and "
            f"{columns[0]!r} is one column. Name the columns of all annotators as candidates "
            "(--candidates again for each), or leave min_votes (--min-votes) out."
        )
    where = f"{name}, candidates in {', '.join(map(repr, columns))}"
    words = frozenset() if na_is_label else MISSING_WORDS
    rows = list(zip(*_read_cells(frame, columns, sep, words, no_answer), strict=True))
    if len(columns) == 1 and (missing := _find_words(rows, words | {""})):
        raise InvalidFileError(f"{where}: {_describe_rows_without_candidates(missing)}")
    rows = blank_words(where, rows, words)
    try:
        sets = candidates_from_cells(rows, sep=sep, min_votes=min_votes, fallback=fallback)
    except ValueError as error:
        raise InvalidFileError(f"{where}: {error}") from error
    warn_of_doubtful_candidates(where, sets, votes=len(columns) > 1)
    return CandidateColumns(sets, [_join_cells(row, sep) for row in rows])


def parse_votes(
    frame: "pd.DataFrame",
    columns: Sequence[str],
    *,
    sep: str = "|",
    na_is_label: bool = False,
    no_answer: Sequence[Any] = (),
) -> Votes | None:
    """Who said what, from several columns that :func:`parse_candidates` has accepted."""
    if len(columns) == 1:
        return None
    words = frozenset() if na_is_label else MISSING_WORDS
    by_annotator = [
        [
            set() if _is_word(cell, words) else parse_labels(cell, sep, i)
            for i, cell in enumerate(cells)
        ]
        for cells in _read_cells(frame, columns, sep, words, no_answer)
    ]
    return Votes.from_wide(list(zip(*by_annotator, strict=True)), annotators=columns)


def _read_cells(
    frame: "pd.DataFrame",
    columns: Sequence[str],
    sep: str,
    words: Set[str],
    no_answer: Sequence[Any],
) -> list[list[Any]]:
    """The cells of each column without codes for no answer.

    Of several columns with nothing but whole numbers as text, those with a gap were perhaps written
    as 1.0, the others as 1: it is the same label.
    """
    cells = [blank_codes(frame[column].to_list(), no_answer, sep) for column in columns]
    if len(columns) == 1:
        return cells
    texts = [
        cell.strip()
        for column in cells
        for cell in column
        if isinstance(cell, str) and cell.strip() and not _is_word(cell, words)
    ]
    if not all(WHOLE_NUMBER.fullmatch(part.strip()) for text in texts for part in text.split(sep)):
        return cells
    return [
        [
            sep.join(map(whole_number_text, cell.split(sep))) if isinstance(cell, str) else cell
            for cell in column
        ]
        for column in cells
    ]


def blank_words(where: str, rows: list[tuple[Any, ...]], words: Set[str]) -> list[tuple[Any, ...]]:
    """The rows with None for the cells that are a word for missing; warn if there are some."""
    unvoted = _find_words(rows, words)
    if not unvoted:
        return rows
    warn_user(
        f"{where}: {_describe_missing_words(unvoted)} There is no vote in such cells, in "
        f"{pluralize(len(unvoted), 'row')}: {shorten_list(list(unvoted))}."
    )
    return [tuple(None if _is_word(cell, words) else cell for cell in row) for row in rows]


def blank_codes(cells: list[Any], no_answer: Sequence[Any], sep: str | None = None) -> list[Any]:
    """The cells of a column without codes for no answer, None where there is nothing else."""
    codes = no_answer_codes(no_answer)
    return [drop_codes(cell, codes, sep) for cell in cells]


def _is_word(cell: Any, words: Set[str]) -> bool:
    return isinstance(cell, str) and cell.strip() in words


def _find_words(rows: list[tuple[Any, ...]], words: Set[str]) -> dict[int, str]:
    """Rows in which a cell is nothing but one of the words, and the word."""
    return {i: cell.strip() for i, row in enumerate(rows) for cell in row if _is_word(cell, words)}


def _describe_rows_without_candidates(missing: dict[int, str]) -> str:
    if len(missing) == 1:
        text = (
            f"Row {next(iter(missing))} has no candidate label at all. Drop the row, or fill it in."
        )
    else:
        text = (
            f"Rows {shorten_list(list(missing))} have no candidate label at all. Drop the "
            f"{len(missing)} rows, or fill them in."
        )
    return f"{text} {_describe_missing_words(missing)}" if any(missing.values()) else text


def _describe_missing_words(missing: dict[int, str]) -> str:
    words = " or ".join(repr(word) for word in sorted(set(missing.values())) if word)
    return (
        f"A cell {words} is read as missing; if that is a label, say so by na_is_label=True "
        "(--na-is-label)."
    )


def _join_cells(row: tuple[Any, ...], sep: str) -> str:
    """The candidates of a row as the table writes them, in one text."""
    return sep.join(text for cell in row if (text := _cell_text(cell, sep)))


def _cell_text(cell: Any, sep: str) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (list, tuple, set, frozenset)) or hasattr(cell, "tolist"):
        return sep.join(map(str, cell))
    return str(cell) if parse_labels(cell, None, 0) else ""
