"""Responses of the review server: page, state and images; actions are checked and bounded."""

import base64
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.text import normalize_label
from ambilearn._utils.types import Array, Label
from ambilearn.candidates import CandidateSets
from ambilearn.review.images import ImageCache, ImageContent
from ambilearn.review.journal import MAX_LABEL, Journal, is_name, replay
from ambilearn.review.page import Review, encode_page
from ambilearn.review.process import SessionProcess
from ambilearn.review.session import Answers, Step, labels_of_rows
from ambilearn.tables.corrections import parse_new_label

_GONE = 30.0  # seconds without a request after which a tab counts as closed
_WAIT = 15.0  # seconds that a request for news waits
_HISTORY = 100  # steps that a page can undo after it was loaded anew
_MAX_TEXT = 2**28  # characters of all labels of one answer


class InvalidActionError(ValueError):
    """A page sent something that cannot be done; the message is for the person."""

    status = HTTPStatus.BAD_REQUEST


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


class MissingPartsError(InvalidActionError):
    """Parts of a large answer were not received; the page sends them again."""

    status = HTTPStatus.PRECONDITION_REQUIRED


class OtherTabError(InvalidActionError):
    """Another tab of the browser is in use for this review."""

    status = HTTPStatus.CONFLICT


class ReviewService:
    """A review that is served: each action goes to the journal, and then to the session.

    Parameters
    ----------
    review : Review
        What the page shows.
    journal : Journal
        Where answers are kept.
    parse_label : callable
        Label of a text that the page sends; raises ValueError for one that cannot be a label.
    labels : dict of int to label, optional
        Rows that were settled before the review.
    images : sequence of Path, default=()
        Images by number, without symbolic links.
    outputs : sequence of str, default=()
        Names of the files that are written at the end, which the page shows.
    """

    def __init__(
        self,
        review: Review,
        journal: Journal,
        parse_label: Callable[[str], Any],
        *,
        labels: Mapping[int, Label] | None = None,
        images: Sequence[Path] = (),
        outputs: Sequence[str] = (),
    ) -> None:
        self._review, self._journal = review, journal
        self._parse_label, self._images, self._clock = parse_label, images, monotonic
        self.page = encode_page(review, served=True, outputs=outputs)
        self.ended = threading.Event()
        self._writing = threading.Lock()
        self._parts: tuple[str, int, dict[int, str | None]] = "", 0, {}
        self._ids = {str(entry["id"]) for entry in journal.entries}
        known = replay(journal.entries)
        self.skipped = tuple(known.skipped)
        self._steps = [str(step["id"]) for step in known.steps]
        self.answers = Answers(
            labels or {},
            [
                Step({}, self._parse(step["labels"]), step["random"], self._parse(step["found"]))
                for step in known.steps
            ],
        )
        self._given = dict(labels or {})
        self._n_sent = 0
        self._tab: str | None = None
        self._seen = 0.0
        self._turn = 0  # how often another tab took over
        self._random: set[int] = set()  # rows that the page marks as drawn at random
        self._released: set[int] = set()  # random rows that are in the journal as released
        self._places = {label: j for j, label in enumerate(review.classes)}
        self._read_images = ImageCache()

    def session_options(self) -> dict[str, Any]:
        """Options of the session, with all answers of the journal."""
        return {"labels": self._given, "steps": self.answers.steps}

    def connect(self, process: SessionProcess) -> None:
        """Serve the state of a session that has started."""
        self._process, self._changed = process, process.changed
        self._pairs = _pairs_of_page(self._review, process.shown)
        classes = process.shown.classes.tolist()
        self._class_places = np.array(
            [*(self._places.get(str(label), -1) for label in classes), -1], dtype="<i4"
        )

    # --- requests -------------------------------------------------------------------------------

    def state(self, tab: str, since: str = "", full: bool = False) -> dict[str, Any]:
        """Changes since the state with the token ``since``; waits a while if there are none.

        With ``full``, all decisions are returned, too.
        """
        with self._changed:
            self._greet(tab)
            self._changed.wait_for(
                lambda: self._token() != since or self.ended.is_set(), timeout=_WAIT
            )
            token = self._token()
            state: dict[str, Any] = {"token": token, "writer": tab == self._tab, **self._report()}
            view = self._process.view
            if full or not since:
                state["labels"] = [
                    [row, str(label), str(self.answers.found.get(row, label))]
                    for row, label in self.answers.labels.items()
                ]
                state["steps"] = self._undoable()
        if since.split("-")[0] != token.split("-")[0]:
            self._random = set(view.drawn)
            suggested, classes, percent = view.suggestions
            state |= {
                "order": _encode(view.order),
                "confidences": _encode(view.confidences[self._pairs]),
                "suggestions": [*map(_encode, [suggested, self._class_places[classes], percent])],
                "drawn": sorted(view.drawn),
                "settled": _encode(view.settled),
            }
        return state

    def act(self, tab: str, action: Action) -> dict[str, Any]:
        """Do what a person did in the page: write it to the journal, then record it in the session.

        Raises InvalidActionError if it cannot be done, OtherTabError if another tab is in use, and
        OSError if the journal cannot be written; nothing has changed then.
        """
        with self._writing:
            if action.id in self._ids:  # sent again after a lost reply
                return {"n": len(self._journal.entries)}
            with self._changed:
                self._greet(tab)
                if tab != self._tab:
                    raise OtherTabError("Another tab of the browser is in use for this review.")
            if self.ended.is_set():
                raise InvalidActionError("The review has ended.")
            match action:
                case Answer():
                    self._answer(self._with_parts(action))
                case Undo():
                    self._undo(action)
                case Skip():
                    self._skip(action)
            return {"n": len(self._journal.entries)}

    def collect(self, part: Part) -> None:
        """Keep a part of a large answer until the answer itself comes."""
        with self._writing:
            name, n_parts, labels = self._parts
            if part.number == 0:
                name, n_parts, labels = part.id, 0, {}
            if (name, n_parts) != (part.id, part.number):
                raise MissingPartsError("Parts of the answer are missing.")
            labels |= part.labels
            if sum(len(text or "") for text in labels.values()) > _MAX_TEXT:
                raise InvalidActionError("The answer is too large.")
            self._parts = name, n_parts + 1, labels

    def similar_rows(self, row: int) -> list[int]:
        """Rows like a row, the nearest first, without those that the page marks as random."""
        self._check_row(row)
        return [each for each in self._process.similar_rows(row) if each not in self._random]

    def take_over(self, tab: str) -> None:
        """Make a tab the one that is in use."""
        with self._changed:
            self._tab, self._seen = tab, self._clock()
            self._turn += 1
            self._changed.notify_all()

    def leave(self, tab: str) -> None:
        """A tab was closed or loaded anew."""
        with self._changed:
            if tab == self._tab:
                self._tab = None
                self._turn += 1
                self._changed.notify_all()

    def end(self) -> None:
        """End the review."""
        with self._changed:
            self.ended.set()
            self._changed.notify_all()

    def image(self, number: int) -> ImageContent | None:
        """An image of the table, None if it cannot be shown."""
        if not 0 <= number < len(self._images):
            return None
        return self._read_images(self._images[number])

    # --- actions --------------------------------------------------------------------------------

    def _with_parts(self, action: Answer) -> Answer:
        if not action.n_parts:
            return action
        name, n_parts, labels = self._parts
        if (name, n_parts) != (action.id, action.n_parts):
            raise MissingPartsError("Parts of the answer are missing.")
        self._parts = "", 0, {}
        return action._replace(labels=labels | action.labels)

    def _answer(self, action: Answer) -> None:
        labels: dict[int, Label] = {}
        for row, text in action.labels.items():
            self._check_row(row)
            labels[row] = None if text is None else self._label(text)
        is_random = len(labels) == 1 and next(iter(labels)) in self._random
        found = labels_of_rows(self._process.view.labels, labels)
        entry = {"labels": _texts(labels), "found": _texts(found), "random": is_random}
        entry["candidates"] = {str(row): self._review.rows[row].raw for row in labels}
        self._write(action, "answer", **entry)
        with self._changed:  # a state has both or none
            self._steps.append(action.id)
            self.answers.record(labels, found, random=is_random)
        self._process.settle(labels, found, random=is_random)

    def _undo(self, action: Undo) -> None:
        if not self._steps or self._steps[-1] != action.of:
            raise InvalidActionError("Only the last answer can be undone.")
        self._write(action, "undo")
        with self._changed:
            self._steps.pop()
            self.answers.undo()
        self._process.undo()

    def _skip(self, action: Skip) -> None:
        self._check_row(action.row)
        self._write(action, "skip", row=action.row)
        self._process.skip(action.row)

    def _write(self, action: Action, kind: str, **entry: Any) -> None:
        """Write an entry, with the random rows that the order has reached since the last one.

        Otherwise these rows, which are harder than most, would be random rows again after a
        restart, and the estimate would be too low.
        """
        released = self._process.progress.released - self._released
        if released:
            entry["released"] = sorted(released)
        self._journal.append({"id": action.id, "kind": kind, **entry})
        self._ids.add(action.id)
        self._released |= released
        with self._changed:
            self._n_sent += 1
            self._changed.notify_all()

    def _check_row(self, row: int) -> None:
        if not 0 <= row < len(self._review.rows):
            raise InvalidActionError(f"There is no row {row}.")

    def _label(self, text: str) -> Any:
        try:
            return self._parse_label(text)
        except ValueError as error:
            raise InvalidActionError(" ".join(str(error).split())) from error

    # --- state ----------------------------------------------------------------------------------

    def _greet(self, tab: str) -> None:
        """Note a request of a tab; the first one is in use, until it is closed."""
        now = self._clock()
        if self._tab is None or (tab != self._tab and now - self._seen > _GONE):
            self._tab = tab
            self._turn += 1
        if tab == self._tab:
            self._seen = now

    def _token(self) -> str:
        process = self._process
        parts = process.version, len(self._journal.entries), self._turn, process.revision
        return "-".join(map(str, parts))

    def _report(self) -> dict[str, Any]:
        """Progress in numbers and words."""
        now = self._process.progress
        return now._asdict() | {
            "released": [],  # which the page does not need
            "n_settled": len(self.answers.labels),
            "n_unlearned": now.n_unlearned + self._n_sent - now.n_actions,
            "notice": self._journal.notice,
            "journal": self._journal.other_name,
            "ended": self.ended.is_set(),
        }

    def _parse(self, texts: Mapping[int, str | None]) -> dict[int, Label]:
        return {
            row: None if text is None else self._parse_label(text) for row, text in texts.items()
        }

    def _undoable(self) -> list[Any]:
        """The last steps: their names, and the rows with their labels before."""
        steps = zip(self._steps[-_HISTORY:], self.answers.steps[-_HISTORY:], strict=True)
        return [
            [name, [[int(row), text] for row, text in _texts(step.before).items()]]
            for name, step in steps
        ]


def _pairs_of_page(review: Review, sets: CandidateSets) -> NDArray[np.intp]:
    """For each candidate on the page, its pair in the session; one past the last if none."""
    texts = [str(label) for label in sets.classes.tolist()]
    labels, starts = sets.labels.tolist(), sets.indptr.tolist()
    pairs = []
    for i, row in enumerate(review.rows):
        place = {texts[labels[k]]: k for k in range(starts[i], starts[i + 1])}
        pairs += [place.get(label, len(labels)) for label, _ in row.ranked()]
    return np.array(pairs, dtype=np.intp)


def _texts(labels: Mapping[int, Label]) -> dict[str, str | None]:
    return {str(row): None if label is None else str(label) for row, label in labels.items()}


def _encode(numbers: Array) -> str:
    return base64.b64encode(numbers.tobytes()).decode()


# --- what a page sends ---------------------------------------------------------------------------


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
