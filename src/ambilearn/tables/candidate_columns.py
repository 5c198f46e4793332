"""Candidate sets from columns: labels as text, as lists, or one column per annotator."""

from collections.abc import Mapping, Sequence, Set
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ambilearn._utils.labels import MISSING_WORDS, normalize_label, normalize_text, split_labels
from ambilearn._utils.text import pluralize, shorten_list
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import ANYTHING, CandidateSets, as_candidates
from ambilearn.candidates.sets import pair_rows
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.label_cells import (
    WHOLE_NUMBER,
    drop_codes,
    no_answer_codes,
    order_classes,
    parse_labels,
    parse_weights,
    whole_number_text,
)
from ambilearn.tables.candidate_checks import (
    LabelPlaces,
    check_label_text,
    warn_of_doubtful_candidates,
    warn_of_long_form,
    warn_of_odd_labels,
    warn_of_separator,
)

if TYPE_CHECKING:
    import pandas as pd

    from ambilearn.crowd.votes import Votes


class CandidateColumns(NamedTuple):
    """The candidates of a table.

    Attributes
    ----------
    sets : CandidateSets
        The candidate sets.
    texts : list of str
        The candidates of each row as the table writes them, in one text.
    votes : Votes or None
        Who said what, if there are several columns.
    frame : DataFrame
        The table, without rows that are left out.
    """

    sets: CandidateSets
    texts: list[str]
    votes: "Votes | None"
    frame: "pd.DataFrame"


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
    missing: str | None = None,
) -> CandidateColumns:
    """Candidate sets from one column of a table, or from several with the votes of annotators.

    The options are those of :func:`ambilearn.tables.read_candidate_table`; ``name`` is the name of
    the table in messages. Raises InvalidFileError, with columns and rows, if a row has
    no candidate in one column, not enough votes in several, or a value that cannot be a label.

    Warns if there are several columns and words are read as missing; if no annotator voted on a
    row, so that every label is its candidate; and as in
    :func:`ambilearn.tables.candidate_checks.warn_of_doubtful_candidates`.
    """
    if not normalize_text(sep):
        raise ValueError(
            "sep must not be empty or invisible: pass the text between two labels, such as '|'."
        )
    if min_votes > 1 and len(columns) == 1:
        raise ValueError(
            f"min_votes={min_votes} counts votes over several columns, one for each annotator, but "
            f"{columns[0]!r} is one column. Name the columns of all annotators as candidates "
            "(--candidates once for each), or omit min_votes (--min-votes)."
        )
    if len(columns) == 1:
        warn_of_long_form(name, frame, columns[0])
    check_missing(missing)
    where = f"{name}, candidates in {_name_columns(columns)}"
    words = frozenset() if na_is_label else MISSING_WORDS
    rows = list(zip(*_read_cells(frame, columns, sep, words, no_answer), strict=True))
    if len(columns) > 1:
        rows = blank_words(where, rows, words)
    votes = None
    try:
        empty = _find_rows_without_candidates(rows, sep, words)
        if empty and missing == "skip":
            _warn_of_empty(where, list(empty), "left out")
            kept = [i for i in range(len(rows)) if i not in empty]
            rows, empty = [rows[i] for i in kept], {}
            frame = frame.iloc[kept].reset_index(drop=True)
        rows = [(None,) * len(row) if i in empty else row for i, row in enumerate(rows)]
        labels = [[_parse_candidates(cell, sep, i) for cell in row] for i, row in enumerate(rows)]
        if empty and (missing == "error" or (missing is None and len(columns) == 1)):
            raise ValueError(_describe_rows_without_candidates(empty))
        if len(empty) == len(rows):
            raise ValueError("No row has a label. Fill in the column, or name another one.")
        if len(columns) == 1:
            names = order_classes(set[Any]().union(*(row[0] for row in labels)), None)
            cells = [ANYTHING if i in empty else found[0] for i, found in enumerate(labels)]
            sets = as_candidates(cells, classes=names)
        else:
            from ambilearn.crowd.votes import Votes

            _check_no_weights(rows)
            votes = Votes.from_wide(labels, annotators=columns)
            sets = votes.to_candidates(min_votes=min_votes, fallback=fallback)
    except ValueError as error:
        raise InvalidFileError(f"{where}: {error}") from error
    if empty:
        _warn_of_empty(where, list(empty), "every label is a candidate")
    texts = [cell for row in rows for cell in row if isinstance(cell, str)]
    several = any(sep in text for text in texts) or (not texts and bool(np.any(sets.sizes > 1)))
    answered = np.setdiff1d(np.arange(len(rows)), list(empty))
    warn_of_labels(where, sets[answered], votes, sep, texts=bool(texts), several=several)
    return CandidateColumns(sets, [_join_cells(row, sep) for row in rows], votes, frame)


def _parse_candidates(cell: Any, sep: str, row: int) -> Any:
    """The labels of a cell, with their weights if it has some."""
    return parse_weights(cell, row) if isinstance(cell, Mapping) else parse_labels(cell, sep, row)


def _check_no_weights(rows: list[tuple[Any, ...]]) -> None:
    """Raise an error if an annotator gave weights."""
    for i, row in enumerate(rows):
        if any(isinstance(cell, Mapping) for cell in row):
            raise ValueError(
                f"Row {i} has weights of labels. Weights need one column of candidates; an "
                "annotator gives a label, or a list of labels."
            )


def check_missing(missing: str | None) -> None:
    """Raise an error for an unknown way to treat rows without candidates."""
    if missing not in (None, "error", "any", "skip"):
        raise ValueError(f"missing must be 'error', 'any' or 'skip', got {missing!r}.")


def _warn_of_empty(where: str, rows: list[int], what: str) -> None:
    warn_user(
        f"{where}: {pluralize(len(rows), 'row')} without labels ({shorten_list(rows)}): {what}."
    )


def _name_columns(columns: Sequence[str]) -> str:
    """The names of a few columns, or one of many."""
    names = [repr(column) for column in columns]
    return shorten_list(names, 3 if len(names) < 5 else 1)


def warn_of_labels(
    where: str,
    sets: CandidateSets,
    votes: "Votes | None",
    sep: str,
    *,
    texts: bool = False,
    several: bool,
) -> None:
    """Warn of sets and labels that are probably not what the user means.

    ``sets`` are those of rows with candidates, ``texts`` is whether text was split at ``sep``, and
    ``several`` whether some cell has several labels.
    """
    places = LabelPlaces(sets.classes, pair_rows(sets), sets.labels)
    if votes is not None:
        places = LabelPlaces(votes.classes, votes.item_indices, votes.label_indices)
    check_label_text(where, places)
    warn_of_doubtful_candidates(where, sets, votes=votes is not None)
    warn_of_odd_labels(where, places, sep=sep if texts else None, several=several)
    warn_of_separator(where, places.classes, sep)


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
        text
        for column in cells
        for cell in column
        if isinstance(cell, str) and (text := normalize_label(cell)) and text not in words
    ]
    if not all(WHOLE_NUMBER.fullmatch(part) for text in texts for part in split_labels(text, sep)):
        return cells
    return [
        [
            sep.join(map(whole_number_text, split_labels(cell, sep)))
            if isinstance(cell, str)
            else cell
            for cell in column
        ]
        for column in cells
    ]


def blank_words(where: str, rows: list[tuple[Any, ...]], words: Set[str]) -> list[tuple[Any, ...]]:
    """Replace cells that are a word for missing by None, with a warning."""
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
    return isinstance(cell, str) and normalize_label(cell) in words


def _find_words(rows: list[tuple[Any, ...]], words: Set[str]) -> dict[int, str]:
    """Rows in which a cell is nothing but one of the words, and the word."""
    return {
        i: normalize_label(cell)
        for i, row in enumerate(rows)
        for cell in row
        if _is_word(cell, words)
    }


def _find_rows_without_candidates(
    rows: list[tuple[Any, ...]], sep: str, words: Set[str]
) -> dict[int, str]:
    """Rows without a label, and the word for missing that is in one of their cells, if any."""
    found = _find_words(rows, words)
    return {
        i: found.get(i, "")
        for i, row in enumerate(rows)
        if all(_is_word(cell, words) or not _parse_candidates(cell, sep, i) for cell in row)
    }


def _describe_rows_without_candidates(missing: dict[int, str]) -> str:
    if len(missing) == 1:
        text = (
            f"Row {next(iter(missing))} has no candidate label at all. Fill it in, leave it "
            "out, or let it have any label: missing='skip' or 'any' (--missing)."
        )
    else:
        text = (
            f"Rows {shorten_list(list(missing))} have no candidate label at all. Fill in the "
            f"{len(missing)} rows, leave them out, or let them have any label: missing='skip' or "
            "'any' (--missing)."
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
    return sep.join(text for cell in row if (text := cell_text(cell, sep)))


def cell_text(cell: Any, sep: str) -> str:
    """The labels of a cell as text: a text unchanged, a list joined by ``sep``."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (list, tuple, set, frozenset, Mapping)) or hasattr(cell, "tolist"):
        return sep.join(map(str, cell))
    return str(cell) if parse_labels(cell, None, 0) else ""


def expand_patterns(name: str, frame: "pd.DataFrame", columns: Sequence[str]) -> tuple[str, ...]:
    """Columns by name; a pattern such as ``A*`` is replaced by all columns that match it."""
    expanded: list[str] = []
    for column in columns:
        found = [column]
        if column not in frame.columns and any(sign in column for sign in "*?["):
            found = [each for each in map(str, frame.columns) if fnmatchcase(each, column)]
            if not found:
                raise InvalidFileError(
                    f"{name}: no column matches {column!r}. The table has "
                    f"{shorten_list(list(frame.columns))}."
                )
        expanded += [each for each in found if each not in expanded]
    return tuple(expanded)
