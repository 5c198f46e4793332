"""Candidate sets from columns: labels as text, as lists, or one column per annotator."""

from collections.abc import Mapping, Sequence, Set
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ambilearn._utils.text import normalize_label, pluralize, shorten_list, split_labels
from ambilearn._utils.types import DataFrame
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
from ambilearn.tables.description import TableDescription

if TYPE_CHECKING:
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
    frame: DataFrame


def parse_candidates(name: str, frame: DataFrame, about: TableDescription) -> CandidateColumns:
    """Candidate sets from one column of a table, or from several with the votes of annotators.

    ``name`` is the name of the table in messages. Raises InvalidFileError, with columns and rows,
    if a row has no candidate in one column, not enough votes in several, or a value that cannot be
    a label.

    Warns if there are several columns and words are read as missing; if no annotator voted on a
    row, so that every label is its candidate; and as in
    :func:`ambilearn.tables.candidate_checks.warn_of_doubtful_candidates`.
    """
    columns, sep, words = about.label_columns, about.sep, about.missing_words
    if about.min_votes is not None and about.min_votes > 1 and len(columns) == 1:
        raise ValueError(
            f"min_votes={about.min_votes} counts votes over several columns, one for each "
            f"annotator, but {columns[0]!r} is one column. Name the columns of all annotators as "
            "candidates (--candidates once for each), or omit min_votes (--min-votes)."
        )
    if len(columns) == 1:
        warn_of_long_form(name, frame, columns[0])
    what = "candidates" if about.given_label is None else "labels"
    where = f"{name}, {what} in {_name_columns(columns)}"
    rows = list(zip(*_read_cells(frame, about), strict=True))
    if len(columns) > 1:
        rows = blank_words(where, rows, words)
    parse = _parse_candidates if len(columns) == 1 else parse_labels
    votes = None
    try:
        labels = [
            [set() if _is_word(cell, words) else parse(cell, sep, i) for cell in row]
            for i, row in enumerate(rows)
        ]
        empty = [i for i, row in enumerate(labels) if not any(row)]
        if empty and (about.missing or ("any" if len(columns) > 1 else "error")) == "error":
            given, found = about.given_label is not None, _find_words(rows, words)
            raise ValueError(_describe_rows_without_labels(empty, found, given))
        if len(empty) == len(rows):
            raise ValueError("No row has a label. Fill in the column, or name another one.")
        if empty:
            left_out = about.missing == "skip"
            done = "left out" if left_out else "every label is a candidate"
            rows_without = f"{pluralize(len(empty), 'row')} without labels ({shorten_list(empty)})"
            warn_user(f"{where}: {rows_without}: {done}.")
            if left_out:
                kept = np.setdiff1d(np.arange(len(rows)), empty).tolist()
                rows, labels, empty = [rows[i] for i in kept], [labels[i] for i in kept], []
                frame = frame.iloc[kept].reset_index(drop=True)
        if len(columns) == 1:
            names = order_classes(set[Any]().union(*(row[0] for row in labels)), None)
            sets = as_candidates([row[0] or ANYTHING for row in labels], classes=names)
        else:
            from ambilearn.crowd.votes import Votes

            votes = Votes.from_wide(labels, annotators=columns)
            sets = votes.to_candidates(min_votes=about.min_votes or 1, fallback=about.fallback)
    except ValueError as error:
        raise InvalidFileError(f"{where}: {error}") from error
    answered = np.setdiff1d(np.arange(len(rows)), empty)
    for i in empty:
        rows[i] = (None,) * len(columns)
    texts = [cell for row in rows for cell in row if isinstance(cell, str)]
    several = any(sep in text for text in texts) or (not texts and bool(np.any(sets.sizes > 1)))
    warn_of_labels(where, sets[answered], votes, sep, texts=bool(texts), several=several)
    written = [sep.join(filter(None, (cell_text(cell, sep) for cell in row))) for row in rows]
    return CandidateColumns(sets, written, votes, frame)


def _parse_candidates(cell: Any, sep: str, row: int) -> Any:
    """The labels of a cell, with their weights if it has some."""
    return parse_weights(cell, row) if isinstance(cell, Mapping) else parse_labels(cell, sep, row)


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


def _read_cells(frame: DataFrame, about: TableDescription) -> list[list[Any]]:
    """The cells of each column without codes for no answer.

    Of several columns with nothing but whole numbers as text, those with a gap were perhaps written
    as 1.0, the others as 1: it is the same label.
    """
    sep, words = about.sep, about.missing_words
    cells = [
        blank_codes(frame[column].to_list(), about.no_answer, sep) for column in about.label_columns
    ]
    if len(cells) == 1:
        return cells
    texts = {cell for column in cells for cell in column if isinstance(cell, str)}
    labels = {text: split_labels(text, sep) for text in texts}
    for text, parts in labels.items():
        if normalize_label(text) not in {"", *words} and not all(
            map(WHOLE_NUMBER.fullmatch, parts)
        ):
            return cells
    plain = {text: sep.join(map(whole_number_text, parts)) for text, parts in labels.items()}
    return [[plain[cell] if isinstance(cell, str) else cell for cell in column] for column in cells]


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


def _describe_rows_without_labels(rows: list[int], words: dict[int, str], given: bool) -> str:
    one = len(rows) == 1
    have, it = (f"Row {rows[0]} has", "it") if one else (f"Rows {shorten_list(rows)} have", "them")
    fill_in = "Fill it in" if one else f"Fill in the {len(rows)} rows"
    text = (
        f"{have} no label. {fill_in}, or leave {it} out: missing='skip' (--missing skip)."
        if given
        else f"{have} no candidate label at all. {fill_in}, leave {it} out, or let {it} have any "
        "label: missing='skip' or 'any' (--missing)."
    )
    return f"{text} {_describe_missing_words(words)}" if words else text


def _describe_missing_words(found: dict[int, str]) -> str:
    words = " or ".join(repr(word) for word in sorted(set(found.values())))
    return (
        f"A cell {words} is read as missing; if that is a label, say so by na_is_label=True "
        "(--na-is-label)."
    )


def cell_text(cell: Any, sep: str) -> str:
    """The labels of a cell as text: a text unchanged, a list joined by ``sep``."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (list, tuple, set, frozenset, Mapping)) or hasattr(cell, "tolist"):
        return sep.join(map(str, cell))
    return str(cell) if parse_labels(cell, None, 0) else ""


def expand_patterns(name: str, frame: DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
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
