"""What a page sends: checked, and bounded in size."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ambilearn._utils.text import normalize_label
from ambilearn._utils.types import Label
from ambilearn.tables.corrections import parse_new_label

_NAME = re.compile(r"[\w-]{1,64}")
MAX_LABEL = 100_000  # characters


class InvalidActionError(ValueError):
    """A page sent something that cannot be done; the message is for the person."""


class Answer(NamedTuple):
    """Labels of some rows, None for a row that is unsettled again.

    A large answer comes in parts: ``n_parts`` of them were sent before.
    """

    id: str
    labels: dict[int, str | None]
    n_parts: int = 0


class Part(NamedTuple):
    """Labels of some rows of a large answer, and the number of the part."""

    id: str
    labels: dict[int, str | None]
    number: int


class Undo(NamedTuple):
    """The last answer is taken back; ``of`` is its name."""

    id: str
    of: str


class Skip(NamedTuple):
    """A row is put last."""

    id: str
    row: int


Action = Answer | Undo | Skip


def parse_action(content: Any) -> Action:
    """The action that JSON content describes; raises InvalidActionError if there is none.

    >>> parse_action({"id": "a1", "kind": "answer", "labels": [[3, "anna"]]})
    Answer(id='a1', labels={3: 'anna'}, n_parts=0)
    """
    if not isinstance(content, dict) or not is_name(content.get("id")):
        raise InvalidActionError("The request has no name.")
    name, kind = content["id"], content.get("kind")
    if kind == "answer" and _is_row(content.get("parts", 0)):
        return Answer(name, _parse_labels(content.get("labels")), content.get("parts", 0))
    if kind == "undo" and is_name(content.get("of")):
        return Undo(name, content["of"])
    if kind == "skip" and _is_row(content.get("row")):
        return Skip(name, content["row"])
    raise InvalidActionError("The request is not known.")


def parse_part(content: Any) -> Part:
    """The part of an answer that JSON content describes."""
    if not isinstance(content, dict) or not is_name(content.get("id")):
        raise InvalidActionError("The request has no name.")
    if not _is_row(content.get("part")):
        raise InvalidActionError("The request is not known.")
    return Part(content["id"], _parse_labels(content.get("labels")), content["part"])


def is_name(name: Any) -> bool:
    """Whether a value can be the name of an action or a tab."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _parse_labels(pairs: Any) -> dict[int, str | None]:
    if not isinstance(pairs, list) or not pairs:
        raise InvalidActionError("An answer needs rows and labels.")
    labels: dict[int, str | None] = {}
    for pair in pairs:
        sound = isinstance(pair, list) and len(pair) == 2 and _is_row(pair[0])
        if not sound or not (pair[1] is None or isinstance(pair[1], str)):
            raise InvalidActionError("An answer is a row and a label.")
        if pair[1] is not None and len(pair[1]) > MAX_LABEL:
            raise InvalidActionError(f"A label has at most {MAX_LABEL:,} characters.")
        labels[pair[0]] = pair[1]
    return labels


def _is_row(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def label_parser(classes: Iterable[Label], sep: str = "|") -> Callable[[str], Any]:
    """Function that returns the label of a text, and raises ValueError for one that cannot be it.

    ``classes`` are the labels of the table, and ``sep`` separates the labels of a cell.
    """
    labels = np.asarray(classes)
    known = {str(label): label for label in labels.tolist()}

    def parse(text: str) -> Any:
        text = normalize_label(text)
        if text in known:
            return known[text]
        if not text or sep in text:
            raise ValueError(f"A label must not be empty or contain {sep!r}.")
        try:
            text.encode()
        except UnicodeEncodeError:
            message = "The label has a character that cannot be written to a file."
            raise ValueError(message) from None
        known[text] = parse_new_label("The answer", text, labels)
        return known[text]

    return parse
