"""Codes that mean no answer, such as -1, in cells of votes and candidates."""

import re
from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from ambilearn._utils.labels import is_missing, listed_labels, normalize_label, split_labels

# A whole number as text; pandas writes 1.0 in a column of numbers with a missing cell.
WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0+)?")


def whole_number_text(text: str) -> str:
    """Remove the ``.0`` that pandas writes after a whole number; other text does not change."""
    found = WHOLE_NUMBER.fullmatch(text.strip())
    return found[1] if found else text


def no_answer_codes(no_answer: Any) -> frozenset[str]:
    """Convert one code or a collection of codes to text, without missing values."""
    several = isinstance(no_answer, Iterable) and not isinstance(no_answer, (str, bytes))
    listed = listed_labels(list(no_answer) if several else [no_answer], "no_answer").tolist()
    return frozenset(_code_text(code) for code in listed if not is_missing(code))


def drop_codes(cell: Any, codes: Set[str], sep: str | None = None) -> Any:
    """Remove the codes for no answer from a cell; None if nothing else is in it.

    The cell is a label, a collection of labels, or text in which ``sep`` separates them. Codes come
    from :func:`no_answer_codes`; -1 matches as number and as text, also as -1.0.

    >>> [drop_codes(cell, {"-1"}, "|") for cell in ("cat|-1|owl", "cat", "-1|-1", -1.0, [-1, 2])]
    ['cat|owl', 'cat', None, None, [2]]
    """
    if not codes or is_missing(cell):
        return cell
    if isinstance(cell, (list, tuple, set, frozenset, np.ndarray)):
        parts = list(cell)
    else:
        parts = split_labels(cell, sep) if sep and isinstance(cell, str) else [cell]
        if _code_text(cell) in codes:  # a code may contain the separator
            return None
    kept = [part for part in parts if _code_text(part) not in codes]
    if len(kept) == len(parts):
        return cell
    if not kept:
        return None
    return sep.join(kept) if sep and isinstance(cell, str) else kept


def _code_text(label: object) -> str:
    """A label as written on the command line: -1 also if a column has -1.0."""
    return whole_number_text(normalize_label(str(label)))
