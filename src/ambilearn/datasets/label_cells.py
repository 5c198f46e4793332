"""Labels in the cells of tables and votes: read, normalize and order them."""

import re
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

import numpy as np

from ambilearn._utils.labels import is_missing, label_array, listed_labels
from ambilearn._utils.text import normalize_label, shorten_repr, split_labels
from ambilearn._utils.types import Label
from ambilearn.candidates.sets import label_positions

# A whole number as text; pandas writes 1.0 in a column of numbers with a missing cell.
WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0+)?")


def parse_labels(cell: Any, sep: str | None, row: int) -> set[Label]:
    """Distinct, normalized labels in one cell of a table; an empty set if the cell is empty."""
    if isinstance(cell, str):
        labels = set(split_labels(cell, sep))
        if labels == {""}:
            return set()
        if "" in labels:
            raise ValueError(
                f"Row {row} has an empty label in {shorten_repr(cell)}: remove the extra {sep!r}."
            )
        return labels
    if is_missing(cell):  # before arrays: a masked entry is an array
        return set()
    if isinstance(cell, (list, tuple, set, frozenset, np.ndarray)):
        items = cell.tolist() if isinstance(cell, np.ndarray) else cell
        labels = set()
        for item in items:
            label = _check_label(item, row)
            if label is None:
                raise ValueError(
                    f"Row {row} has a missing label in {shorten_repr(list(items))}: remove it."
                )
            labels.add(label)
        return labels
    label = _check_label(cell, row)
    return set() if label is None else {label}


def parse_weights(cell: Mapping[Label, Any], row: int) -> dict[Any, Any]:
    """Weights by normalized label; a label whose weight is missing is not a candidate."""
    weights: dict[Any, Any] = {}
    for key, weight in cell.items():
        label = _check_label(key, row)
        if label is None or label in weights:
            what = "a missing label" if label is None else f"the label {label!r} twice"
            raise ValueError(f"Row {row} has {what} in {shorten_repr(cell)}: remove it.")
        if not is_missing(weight):
            weights[label] = weight
    return weights


def _check_label(value: Any, row: int) -> Any:
    """Return text, a number or a truth value, or None if missing; reject everything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return normalize_label(value) or None
    if is_missing(value):
        return None
    if not isinstance(value, (bool, int, float)):
        raise ValueError(
            f"Row {row} has {shorten_repr(value)} as a label: labels must be text or numbers, not "
            f"{type(value).__name__}."
        )
    return value


def order_classes(labels: Collection[Label], classes: Collection[Label] | None) -> list[Any]:
    """The sorted labels, or the given classes, which must contain every label."""
    try:
        names = sorted(labels) if classes is None else _listed_classes(classes)
    except TypeError as error:
        raise ValueError(
            f"The labels have different types and cannot be sorted ({error}): write all as text "
            "or all as numbers, or pass their order as classes=."
        ) from error
    known = set(names)
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise ValueError(
            f"The label {unknown[0]!r} is not among the {len(names)} given classes: add it to the "
            "classes, or correct the votes."
        )
    return names


def _listed_classes(classes: Collection[Label]) -> list[Any]:
    """The given classes, with text normalized as in votes."""
    listed = listed_labels(classes, "classes").tolist()
    names = [normalize_label(name) if isinstance(name, str) else name for name in listed]
    label_positions(label_array(names))
    return names


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
