"""What is probably wrong with a file that cannot be read, or that lacks a column."""

from difflib import get_close_matches
from typing import IO, Any

from ambilearn._utils.text import shorten_repr
from ambilearn.datasets.errors import InvalidFileError


def similar_columns(unknown: list[str], present: list[str], free: list[str]) -> str:
    """Suggestions for columns that are missing."""
    if any(set(str(column).split(",")) <= set(present) for column in unknown):
        return " Name each column separately."
    if len(present) == 1 and (found := other_delimiter(present[0])):
        return f" {found}"
    lower = {column.casefold(): column for column in reversed(free)}
    meant = {
        column: lower[close[0]]
        for column in unknown
        if (close := get_close_matches(str(column).casefold(), lower, n=1))
    }
    if len(unknown) == 1:
        return "".join(f" Did you mean {column!r}?" for column in meant.values())
    pairs = ", ".join(f"{column!r} for {wrong!r}" for wrong, column in meant.items())
    return f" Did you mean {pairs}?" if pairs else ""


def other_delimiter(heading: str) -> str:
    """Message that a heading, read as one cell, has another delimiter; empty if it has none."""
    mark = max(",;\t", key=heading.count)
    if mark not in heading:
        return ""
    shown = repr(mark)
    return (
        f"It seems to be separated by {shown} (heading: {shorten_repr(heading)}). Use --delimiter "
        f"{shown}{', and --decimal , for decimal commas' if mark == ';' else ''}."
    )


def first_line(file: IO[Any], start: int | None, encoding: str) -> str:
    """First line of a file that was read from ``start``; empty if it cannot be read again."""
    if start is None:
        return ""
    file.seek(start)
    line = file.readline(10_000)
    if isinstance(line, bytes):
        line = line.decode(encoding, errors="replace")
    return str(line).strip("\ufeff\r\n")


def not_text(
    file: IO[Any], name: str, encoding: str, error: UnicodeDecodeError
) -> InvalidFileError:
    """The error of a file that is not in an encoding, with the encoding that it probably has."""
    advice = "Save it as UTF-8, or name its encoding with encoding (--encoding)."
    if encoding == "utf-8-sig" and (likely := _likely_encoding(file)):
        advice = f"It is probably {likely}: use encoding={likely!r} (--encoding {likely})."
    plain = encoding.upper().removesuffix("-SIG")
    return InvalidFileError(f"{name} is not {plain} text ({error}). {advice}")


def _likely_encoding(file: IO[Any]) -> str | None:
    """UTF-16 without a byte-order mark, or the most frequent encoding of Western Europe."""
    file.seek(0)
    content = file.read(2**20)
    even, odd = content[::2].count(0), content[1::2].count(0)
    if 4 * max(even, odd) > len(content):
        return "utf-16-le" if odd > even else "utf-16-be"
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return None
    return "cp1252"
