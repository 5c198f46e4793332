"""Normalized text of labels, and of messages: numbers, lists, progress, packages to install."""

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from itertools import islice
from math import ceil, log
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ambilearn._utils.rounds import Round

# Table cells with exactly one of these texts are missing.
MISSING_WORDS = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?"}
)

_SHOWN_ROWS = 10  # of a table in a notebook


def pluralize(number: int, noun: str) -> str:
    """Number and noun, in the plural unless the number is one.

    >>> pluralize(1, "row"), pluralize(6000, "row"), pluralize(0, "image")
    ('1 row', '6,000 rows', '0 images')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shorten_list(items: Sequence[object], limit: int = 8) -> str:
    """The first items, and the number of further items.

    >>> shorten_list([3, 5, 8, 13], limit=2), shorten_list(["x"])
    ('3, 5 and 2 more', 'x')
    """
    rest = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(map(str, items[:limit])) + rest


def shorten_repr(value: object, limit: int = 60) -> str:
    """The repr of a value, shortened for a message.

    >>> shorten_repr("anna"), shorten_repr(list(range(512)), limit=12)
    ("'anna'", '[0, 1, 2, 3…')
    """
    try:
        text = repr(value)
    except Exception:  # an integer with thousands of digits, or a broken __repr__
        text = object.__repr__(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def readable_file_name(path: str) -> str:
    r"""The last part of a path as valid text; undecodable bytes are replaced.

    >>> readable_file_name("tables/caf\udcff.csv")
    'caf�.csv'
    """
    return os.fsencode(Path(path).name).decode("utf-8", "replace")


@contextmanager
def report_lone_surrogates(where: str = "The table") -> Iterator[None]:
    r"""Raise a readable error for text with lone surrogates, which JSON can contain.

    >>> with report_lone_surrogates():
    ...     "caf\ud800".encode()
    Traceback (most recent call last):
    ValueError: The table has an invalid character (a lone surrogate) after 'caf', which ...
    """
    try:
        yield
    except UnicodeEncodeError as error:
        broken = error.object[max(0, error.start - 20) : error.start].replace("\n", " ")
        raise ValueError(
            f"{where} has an invalid character (a lone surrogate) after {broken!r}, which cannot "
            "be written to a text file. Correct it in the table."
        ) from error


def install_command(extra: str) -> str:
    """Command that installs an extra."""
    return f"pip install 'ambilearn[{extra}]'"


@contextmanager
def requires_extra(extra: str, *, purpose: str) -> Iterator[None]:
    """Context for imports; if a package is not installed, the error names the extra.

    Errors of a package that is installed but broken are not changed.

    ``purpose`` is the subject of the sentence "… needs pandas". The message is one line with the
    install command.

    >>> with requires_extra("data", purpose="Reading tables"):
    ...     import pandas as pd
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        if package == "ambilearn":  # a bug in this library, not a missing package
            raise
        raise ImportError(
            f"{purpose} needs {package}: {install_command(extra)}", name=error.name
        ) from error


def html_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A title and the first rows of a table, for a notebook.

    >>> html_table("1 row", ["a", "b"], [["<a>", 1 / 3], [None, 2e-31]])  # doctest: +ELLIPSIS
    '<p>1 row</p>...<td>&lt;a&gt;</td><td>0.333333</td></tr><tr><td></td><td>0</td></tr></table>'
    """

    def text(cell: object) -> str:
        if not isinstance(cell, str) and str(cell) in ("None", "nan", "<NA>", "NaT"):
            return ""
        number = isinstance(cell, float)
        return escape(f"{cell:.6f}".rstrip("0").rstrip(".") if number else str(cell))

    def line(cells: Sequence[object], tag: str) -> str:
        return "".join(f"<{tag}>{text(cell)}</{tag}>" for cell in cells)

    lines = [line(headings, "th"), *(line(row, "td") for row in islice(rows, _SHOWN_ROWS))]
    body = "".join(f"<tr>{each}</tr>" for each in lines)
    return f"<p>{escape(title)}</p><table>{body}</table>"


def format_duration(seconds: float | None) -> str:
    """A duration in words; ``?`` if it is None.

    >>> format_duration(42), format_duration(3725), format_duration(None)
    ('42 s', '1 h 02 min', '?')
    """
    if seconds is None:
        return "?"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"


# Invisible characters: zero-width space, word joiner, byte-order mark. The zero-width joiner and
# non-joiner are kept because some scripts need them.
_TRANSLATION = {0x200B: None, 0x2060: None, 0xFEFF: None, 0xA0: " "}


def normalize_text(text: str) -> str:
    r"""Text in NFC form, without invisible characters and with no-break spaces as spaces.

    >>> normalize_text("Zoe\u0308\u200b\u00a0M") == "Zo\u00eb M"
    True
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.translate(_TRANSLATION))


def normalize_label(text: str) -> str:
    """Label of a table or vote: :func:`normalize_text` without surrounding whitespace."""
    return normalize_text(text).strip()


def split_labels(text: str, sep: str | None) -> list[str]:
    """Normalized labels in a text, including empty ones; without ``sep`` the text is one label.

    >>> split_labels(" anna |bob|", "|")
    ['anna', 'bob', '']
    """
    # Normalize before splitting: a separator such as " or " may contain no-break spaces.
    text = normalize_text(text)
    parts = text.split(normalize_text(sep)) if sep else [text]
    return [part.strip() for part in parts]


class TimeLeft:
    """Estimate of the remaining time, assuming steps of equal length."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()

    def describe(self, done: int, left: int) -> str:
        """``", about 12 s left"``; empty before the first step and for less than a second."""
        seconds = (self._clock() - self._began) / done * left if done else 0.0
        return f", about {format_duration(seconds)} left" if seconds >= 1 else ""


class RoundProgress:
    """Listener that describes the progress of a fit, at most five times per second.

    ``stage`` describes the fit, such as ``"fitting PL-CL to 60 rows"``. ``progress`` is called with
    a status message, such as ``"fitting PL-CL to 60 rows: round 3 of at most 50, about 2 s left"``.
    If ``only`` is the class of an estimator, the iterations of nested estimators are ignored.
    """

    def __init__(
        self,
        stage: str,
        progress: Callable[[str], None],
        *,
        only: str | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._stage, self._progress, self._only, self._clock = stage, progress, only, clock
        self._changes: list[float] = []
        self._time_left = TimeLeft(clock)
        self._shown = float("inf")
        progress(stage)

    def __call__(self, done: "Round") -> None:
        """Record the end of an iteration."""
        if self._only is not None and done.name != self._only:
            return
        if done.text:
            self._progress(f"{self._stage}: {done.text}")
            return
        if done.number == 1 and self._only is None:  # possibly the next member of a stack
            self._changes = []
            self._time_left = TimeLeft(self._clock)
            return
        self._changes.append(done.change)
        left = rounds_left(self._changes, done)
        if left == 0 or 0 <= self._clock() - self._shown < 0.2:
            return
        self._shown = self._clock()
        member = "" if self._only else f"{done.name}, "
        self._progress(
            f"{self._stage}: {member}round {done.number + 1} of at most {done.limit}"
            f"{'' if left is None else self._time_left.describe(len(self._changes), left)}"
        )


def rounds_left(changes: list[float], done: "Round") -> int | None:
    """Estimated number of remaining iterations, assuming a constant rate; None if unknown.

    ``changes`` has the changes of the iterations so far; ``done`` is the last iteration.

    >>> from ambilearn._utils.rounds import Round
    >>> rounds_left([0.4, 0.2, 0.1], Round("PLCL", 3, 50, 0.1, 0.01))
    4
    """
    most = done.limit - done.number
    if done.tol <= 0:
        return most
    if done.change <= done.tol:
        return 0
    if len(changes) < 2:
        return None
    rate = (changes[-1] / changes[0]) ** (1 / (len(changes) - 1))
    return most if rate >= 1 else min(most, ceil(log(done.tol / done.change) / log(rate)))
