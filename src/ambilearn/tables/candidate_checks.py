"""Warn of candidate sets that are valid but probably not what the user means."""

import math
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.suspicious_labels import (
    RARER,
    find_joined_labels,
    find_misspellings,
    means_no_answer,
)
from ambilearn._utils.text import shorten_list, shorten_repr
from ambilearn._utils.types import Array, DataFrame, Label
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets
from ambilearn.candidates.sets import pair_rows
from ambilearn.datasets.errors import InvalidFileError

# A label is in nearly every set if it is in this share of at least this many rows.
_NEARLY_EVERY = 0.95
_ENOUGH_ROWS = 20


def warn_of_doubtful_candidates(where: str, sets: CandidateSets, *, votes: bool) -> None:
    """Warn of a label that is a candidate nearly everywhere, and of votes that mean "no answer".

    Many votes on a row contain most labels, so the first warning is not for votes. ``where`` names
    table and columns in the message.
    """
    classes = sets.classes.tolist()
    if not votes and (everywhere := _labels_in_nearly_every_set(sets)):
        share = np.sum(sets.labels == everywhere[0]) / len(sets)
        names = shorten_list([shorten_repr(classes[j]) for j in everywhere], 5)
        one = len(everywhere) == 1
        are, they_are = ("is a candidate", "it is") if one else ("are candidates", "they are")
        warn_user(
            f"{where}: {names} {are} in {share:.0%} of the rows, mostly with others, so the sets "
            f"hardly show in which rows {they_are} correct. If such a label is a default, or means "
            "'none of these', remove it from the sets."
        )
    if votes and (codes := [label for label in classes if means_no_answer(label, classes)]):
        warn_user(
            f"{where}: {shorten_list(list(map(shorten_repr, codes)), 5)} is counted as a vote, but "
            "looks like 'no answer'. If it means no answer, use no_answer (--no-answer), or leave "
            "such cells empty."
        )


class LabelPlaces:
    """Labels of a table, and row and index of the label of every occurrence."""

    def __init__(self, classes: Array, rows: NDArray[np.intp], labels: NDArray[np.intp]) -> None:
        self.classes: list[Label] = classes.tolist()
        self._rows, self._labels = rows, labels

    def counts(self) -> dict[Label, int]:
        """How often each label occurs."""
        counts = np.bincount(self._labels, minlength=len(self.classes)).tolist()
        return dict(zip(self.classes, counts, strict=True))

    def describe(self, *wanted: Any) -> str:
        """The rows with one of the labels: ``"row 3"``, ``"rows 1, 2, 3, 4, 5 and 7 more"``."""
        indices = [j for j, label in enumerate(self.classes) if label in wanted]
        rows = np.unique(self._rows[np.isin(self._labels, indices)]).tolist()
        return f"row{'' if len(rows) == 1 else 's'} {shorten_list(rows, 5)}"


def check_label_text(where: str, places: LabelPlaces) -> None:
    """Raise an error, with the rows, for a label that no text file can hold."""
    for label in places.classes:
        if isinstance(label, str) and any("\ud800" <= sign <= "\udfff" for sign in label):
            raise InvalidFileError(
                f"{where}, {places.describe(label)}: the label {shorten_repr(label)} has an "
                "invalid character (a lone surrogate). Correct it in the table."
            )


def warn_of_odd_labels(where: str, places: LabelPlaces, *, sep: str | None, several: bool) -> None:
    """Warn of labels that another separator joins, and of labels that look misspelled.

    That is, if all parts of a label are labels of their own, or most labels look like several in
    one, or if labels differ by case or by one letter; see
    :func:`ambilearn._utils.suspicious_labels.find_misspellings`. ``sep`` is the separator of
    labels in text cells, and ``several`` whether some cell has several labels.
    """
    if not all(str(label).isalnum() for label in places.classes):  # with a sign between labels
        _warn_of_joined_labels(where, places, sep, several)
    counts = places.counts()
    is_rare = RARER * min(counts.values()) <= max(counts.values())
    if is_rare and (found := find_misspellings(counts)):
        pairs = [
            f"{shorten_repr(rare)} for {shorten_repr(frequent)} ({places.describe(rare)})"
            for rare, frequent in found
        ]
        warn_user(
            f"{where}: labels that may be misspelled: {shorten_list(pairs, 3)}. Correct the table, "
            "or set the labels of these rows with checked (--checked)."
        )


def _warn_of_joined_labels(where: str, places: LabelPlaces, sep: str | None, several: bool) -> None:
    joined = find_joined_labels(places.classes)
    if joined is None:
        return
    text, other = joined
    names = set(places.classes)
    alike = [
        label
        for label in places.classes
        if isinstance(label, str) and other in label and names.issuperset(_parts(label, other))
    ]
    if several and not alike:  # the sign is part of a name
        return
    found = f"{shorten_repr(text)} ({places.describe(*(alike or [text]))}) is taken as one label"
    option = f"use sep={other!r} (--sep {other!r})"
    if sep is None:
        advice = "If it is several labels, write each of them on its own."
    elif several:
        found += f", while {sep!r} separates labels elsewhere"
        advice = f"Write {sep!r} there, too; if only {other!r} separates labels, {option}."
    else:
        advice = f"If {other!r} separates labels, {option}."
    warn_user(f"{where}: {found}. {advice}")


def warn_of_separator(where: str, classes: list[Label], sep: str) -> None:
    """Warn of labels, from lists, that contain the separator of labels in text."""
    if joined := [label for label in map(str, classes) if sep in label]:
        warn_user(
            f"{where}: the label {shorten_repr(joined[0])} contains {sep!r}, which separates "
            "labels in text, such as in CSV files. Choose another separator with sep (--sep)."
        )


def _parts(label: str, sep: str) -> list[str]:
    return [part.strip() for part in label.split(sep)]


def _labels_in_nearly_every_set(sets: CandidateSets) -> list[int]:
    """Labels that are in nearly every set, and not because they are the only candidate there."""
    if len(sets) < _ENOUGH_ROWS or len(sets.classes) < 2:
        return []
    counts = np.bincount(sets.labels, minlength=len(sets.classes))
    beside_others = np.bincount(sets.labels, sets.sizes[pair_rows(sets)] > 1, len(sets.classes))
    everywhere = (counts >= _NEARLY_EVERY * len(sets)) & (beside_others > counts / 2)
    return np.flatnonzero(everywhere).tolist()


def warn_of_long_form(name: str, frame: DataFrame, column: str) -> None:
    """Warn if a table that is read as candidates looks like answers in long form."""
    if found := looks_like_answers(frame, column):
        item, annotator = found
        warn_user(
            f"{name} looks like answers in long form, one for each {item!r} and {annotator!r}, and "
            "is read as one row for each thing to label. If it is answers, use "
            "ambilearn.tables.read_candidate_table, on the command line: "
            f"--item {item} --annotator {annotator} --answer {column}, and --features-from FILE "
            "for features of the items."
        )


def looks_like_answers(frame: DataFrame, column: str) -> tuple[str, str] | None:
    """Item and annotator column of a table that looks like answers in long form; otherwise None.

    Such a table has few columns, two of them with repeated values, but each pair of values occurs
    once: an annotator answers once per item. Columns with decimals are measurements, not names.
    ``column`` is the column with the labels.
    """
    others = [name for name in frame.columns if name != column]
    if len(frame) < 6 or not 2 <= len(others) <= 3:
        return None
    cells = {name: list(map(str, frame[name].to_list())) for name in others}
    different = {name: len(set(cells[name])) for name in others}
    repeated = [
        name
        for name in others
        if 1 < different[name] <= len(frame) / 1.5 and not any(map(_is_decimal, cells[name]))
    ]
    for one in repeated:
        for other in repeated:
            together = len(set(zip(cells[one], cells[other], strict=True)))
            if different[one] >= different[other] and one != other and together == len(frame):
                return one, other
    return None


def _is_decimal(text: str) -> bool:
    """Whether a cell is a number that is not whole: 1.5, but neither 1.0 nor a word."""
    with suppress(ValueError):
        return math.isfinite(number := float(text)) and not number.is_integer()
    return False
