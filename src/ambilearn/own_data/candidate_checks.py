"""Warnings of candidate sets that are proper, and yet probably not what the user means."""

import re
from typing import Any

import numpy as np

from ambilearn._utils.joined_labels import find_joined_labels
from ambilearn._utils.missing import MISSING_WORDS
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets

# A label in so many sets, of so many rows at least, is in nearly every one.
_NEARLY_EVERY = 0.95
_ENOUGH_ROWS = 20
# What people write for no answer, in lower case and with blanks for other signs between words.
# Some may be a label in earnest: it is a warning, nothing is dropped.
_NO_ANSWER = re.compile(
    r"-+|\.|none|nil|n\.?a\.?|n/a|nan|null|missing|skip(ped)?|abstain|i?dk|"
    r"no ?(answer|label|vote)|not (answered|labell?ed|sure)|un(answered|labell?ed|known|sure)|"
    r"undecided|(don'?t|do not) know|can('t|not) tell"
)
_NINES = re.compile(r"99+")


def warn_of_doubtful_candidates(where: str, sets: CandidateSets, *, votes: bool) -> None:
    """Warn of labels that are joined by another sign, everywhere, or a code for no answer.

    Parameters
    ----------
    where : str
        Table and columns, for messages.
    sets : CandidateSets
        The candidates.
    votes : bool
        Whether they are votes of several annotators.

    Warns
    -----
    UserWarning
        If every row has one candidate and some look like several; if one label is a candidate
        nearly everywhere, beside others; if a label of votes looks like "no answer".
    """
    classes = sets.classes.tolist()
    if np.all(sets.sizes == 1) and (joined := find_joined_labels(classes)):
        text, sep = joined
        warn_user(
            f"{where}: every row has one candidate, and {shorten_repr(text)} is taken as one "
            f"label. If {sep!r} separates labels, say so by sep={sep!r} (--sep {sep!r})."
        )
    for j in _labels_in_nearly_every_set(sets):
        share = np.mean(sets.labels == j) * len(sets.labels) / sets.n_rows
        warn_user(
            f"{where}: {shorten_repr(classes[j])} is a candidate in {share:.0%} of the rows, "
            "mostly beside others, so that hardly anything tells where it is right. If it is no "
            "label of yours but a default, or a word for 'none of these', take it out of the sets."
        )
    if votes:
        warn_of_no_answer_codes(where, classes)


def warn_of_no_answer_codes(where: str, classes: list[Any]) -> None:
    """Warn of labels of votes that look like a code for no answer."""
    if codes := [label for label in classes if _means_no_answer(label, classes)]:
        warn_user(
            f"{where}: {', '.join(map(shorten_repr, codes))} is counted as a vote like any other, "
            "and looks like 'no answer'. If that is what it means, say so by no_answer "
            "(--no-answer), or leave such cells empty."
        )


def _labels_in_nearly_every_set(sets: CandidateSets) -> list[int]:
    """Labels that are in nearly every set, and not because they are the only candidate there."""
    if sets.n_rows < _ENOUGH_ROWS or sets.n_labels < 2:
        return []
    counts = np.bincount(sets.labels, minlength=sets.n_labels)
    beside_others = np.bincount(sets.labels, sets.sizes[sets.rows] > 1, sets.n_labels)
    everywhere = (counts >= _NEARLY_EVERY * sets.n_rows) & (beside_others > counts / 2)
    return np.flatnonzero(everywhere).tolist()


def _means_no_answer(label: Any, classes: list[Any]) -> bool:
    """Whether a label looks like a code for no answer beside the others.

    A number is one if the others are words, if it alone is negative, or if it is all nines and far
    above the rest. Zero among numbers is not: most people count from it.
    """
    text = str(label).strip()
    if text in MISSING_WORDS:  # that was asked for: elsewhere it is missing already
        return False
    others = [_as_number(other) for other in classes if other != label]
    number = _as_number(label)
    if number is None:
        words = re.sub(r"(?<=\w)[\s_-]+(?=\w)", " ", text.casefold())
        return _NO_ANSWER.fullmatch(words) is not None
    if not others:
        return False
    numbers = [other for other in others if other is not None]
    if len(numbers) < len(others):
        return not numbers and (number <= 0 or bool(_NINES.fullmatch(text)))
    if number < 0:
        return min(numbers) >= 0
    return bool(_NINES.fullmatch(text)) and number > 5 * max(numbers)


def _as_number(label: Any) -> float | None:
    if isinstance(label, bool):
        return None
    try:
        return float(label)
    except ValueError:
        return None
