"""Labels that are known: chosen by a person, in a file that belongs to a table, or in a column.

The file is a CSV table with the columns ``row`` (counted from 0, without the header),
``candidates`` (the candidates of that row as the table writes them, in any order, to see that both
files belong together) and ``label`` (the choice, which need not be among the candidates). A column
``random`` has ``yes`` for rows that were drawn at random, as a served review does.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import IO, Any

import numpy as np

from ambilearn._utils.files import atomic_write
from ambilearn._utils.text import MISSING_WORDS, normalize_label, shorten_repr, split_labels
from ambilearn._utils.types import Array, DataFrame, Label
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns, read_frame, source_name
from ambilearn.datasets.label_cells import parse_labels, whole_number_text
from ambilearn.tables.description import Corrections

COLUMNS = ("row", "candidates", "label")
_BOOLEANS = {"true": True, "false": False}


def read_corrections(
    source: str | os.PathLike[str] | IO[Any] | None,
    texts: list[str],
    classes: Array,
    *,
    sep: str = "|",
) -> Corrections:
    """Read a CSV file of corrections, and check that it belongs to the table.

    ``texts`` are the candidates of each row of the table, as the table writes them; the order in
    which ``sep`` separates them does not matter. If the labels of the table, ``classes``, are
    numbers, the chosen labels are read as numbers. Raises InvalidFileError for a row that the table
    does not have, that occurs twice, whose candidates are not those of the table, or whose label is
    empty.
    """
    if source is None:
        return Corrections()
    name = source_name(source)
    frame = read_frame(source, format="csv", allow_empty=True)
    check_columns(name, frame, list(COLUMNS))
    known = {str(label): label for label in classes.tolist()}
    labels: dict[int, Label] = {}
    new_labels: list[Label] = []
    cells = zip(*(frame[column].to_list() for column in COLUMNS), strict=True)
    for line, (row_text, candidates, label_text) in enumerate(cells):
        where = f"{name}, correction {line}"
        row = _parse_row(where, row_text, len(texts))
        if row in labels:
            raise InvalidFileError(f"{where}: row {row} was corrected before. Keep one of them.")
        if set(split_labels(candidates, sep)) != set(split_labels(texts[row], sep)):
            raise InvalidFileError(
                f"{where}: row {row} of the table has the candidates {shorten_repr(texts[row])}, "
                f"not {shorten_repr(candidates)}. The corrections were made for another table, "
                "or for another order of its rows."
            )
        text = normalize_label(label_text)
        if not text:
            raise InvalidFileError(
                f"{where}: the label of row {row} is empty. Write one, or remove the line."
            )
        label = known[text] if text in known else parse_new_label(where, text, classes)
        if text not in known:
            known[text] = label
            new_labels.append(label)
        labels[row] = label
    marks = frame["random"].to_list() if "random" in frame else []
    random = {row for row, mark in zip(labels, marks, strict=False) if mark == "yes"}
    return Corrections(labels, new_labels, random)


def apply_corrections(sets: CandidateSets, corrections: Corrections) -> CandidateSets:
    """Candidate sets in which each corrected row has the chosen label as its only candidate.

    A label that is then not a candidate of any row is removed.
    """
    if not corrections.labels:
        return sets
    corrected: list[Any] = list(sets)  # with their weights, if they have any
    for row, label in corrections.labels.items():
        corrected[row] = {label}
    return replace(as_candidates(corrected), sparse_mask=sets.sparse_mask)


def _parse_row(where: str, text: str, n_rows: int) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InvalidFileError(
            f"{where}: {shorten_repr(text)} is not the number of a row. Rows are counted from 0."
        )
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(n_rows)) or int(digits) >= n_rows:
        raise InvalidFileError(
            f"{where}: there is no row {digits[:20]}, the table has the rows 0 to {n_rows - 1}."
        )
    return int(digits)


def write_corrections(
    path: str | os.PathLike[str],
    labels: Mapping[int, Label],
    texts: list[str] | Mapping[int, str],
    random: Collection[int] = (),
) -> None:
    """Write a file of corrections, as the review page does; it appears when it is complete.

    ``texts`` are the candidates of each row of the table, as the table writes them. ``random`` are
    rows that were drawn at random, if any.
    """
    with atomic_write(Path(path)) as file:
        file.write(b"row,candidates,label" + b",random" * bool(random) + b"\n")
        for row in sorted(labels):
            cells = ",".join(
                '"' + text.replace('"', '""') + '"' for text in (texts[row], str(labels[row]))
            )
            mark = (",yes" if row in random else ",no") if random else ""
            file.write(f"{row},{cells}{mark}\n".encode())


def parse_new_label(where: str, text: str, classes: Array) -> Any:
    """A label that no row of the table has: a number or boolean if all others are, else text."""
    if classes.dtype.kind == "b" and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if classes.dtype.kind not in "biuf":
        return text
    try:
        label = np.dtype(classes.dtype).type(text).item()
    except (ValueError, OverflowError):
        label = None
    if classes.dtype.kind == "b" or label is None or "_" in text or not isfinite(label):
        kind = "booleans" if classes.dtype.kind == "b" else f"numbers of type {classes.dtype}"
        raise InvalidFileError(
            f"{where}: {shorten_repr(text)} cannot be a label, because the labels of the table are "
            f"{kind}."
        )
    return label


def parse_truth(name: str, frame: DataFrame, column: str, labels: Iterable[Label]) -> list[Any]:
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
