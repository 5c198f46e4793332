"""Numbers and lists as people write them, for messages and summaries."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def pluralize(number: int, noun: str) -> str:
    """A number of things; one thing is singular.

    Examples
    --------
    >>> from ambilearn._utils.text import pluralize
    >>> pluralize(1, "row"), pluralize(6000, "row"), pluralize(0, "image")
    ('1 row', '6,000 rows', '0 images')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shorten_list(items: Sequence[Any], limit: int = 8) -> str:
    """The first items, and how many more there are.

    Examples
    --------
    >>> from ambilearn._utils.text import shorten_list
    >>> shorten_list([3, 5, 8, 13], limit=2), shorten_list(["x"])
    ('3, 5 and 2 more', 'x')
    """
    rest = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(map(str, items[:limit])) + rest


def shorten_repr(value: Any, limit: int = 60) -> str:
    """A value as Python writes it, for a message: not all the 512 numbers of an embedding.

    Examples
    --------
    >>> from ambilearn._utils.text import shorten_repr
    >>> shorten_repr("anna"), shorten_repr(list(range(512)), limit=12)
    ("'anna'", '[0, 1, 2, 3…')
    """
    try:
        text = repr(value)
    except Exception:  # of an integer of thousands of digits, or an object that cannot say it
        text = object.__repr__(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def readable_file_name(path: str) -> str:
    r"""The last part of a path as text that can be written; a byte that is no text is replaced.

    Examples
    --------
    >>> from ambilearn._utils.text import readable_file_name
    >>> readable_file_name("tables/caf\udcff.csv")
    'caf�.csv'
    """
    return os.fsencode(Path(path).name).decode("utf-8", "replace")


@contextmanager
def refuse_half_characters() -> Iterator[None]:
    r"""Say in words that text cannot be encoded, as for half a character that JSON has named.

    Examples
    --------
    >>> from ambilearn._utils.text import refuse_half_characters
    >>> with refuse_half_characters():
    ...     "caf\ud800".encode()
    Traceback (most recent call last):
    ValueError: The table has half a character (a lone surrogate) after 'caf', which ...
    """
    try:
        yield
    except UnicodeEncodeError as error:
        broken = error.object[max(0, error.start - 20) : error.start].replace("\n", " ")
        raise ValueError(
            f"The table has half a character (a lone surrogate) after {broken!r}, which no text "
            "file can hold. Mend it in the table."
        ) from error


def format_duration(seconds: float | None) -> str:
    """A time in words; ``?`` where it is not known.

    Examples
    --------
    >>> from ambilearn._utils.text import format_duration
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
