"""What is wrong with a file that cannot be read, that lacks a column, or is no data frame."""

import codecs
from difflib import get_close_matches
from typing import IO, Any

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import DataFrame
from ambilearn.datasets.errors import InvalidFileError


def check_frame(name: str, frame: Any) -> None:
    """Raise an error if a table from the user is not a data frame."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        kind = type(frame)
        raise TypeError(
            f"{name} is of type {kind.__module__.partition('.')[0]}.{kind.__name__}: pass a pandas "
            "DataFrame. Polars and PyArrow tables have a method to_pandas()."
        )


def check_text_columns(name: str, frame: DataFrame) -> None:
    """Raise an error if a column name is not text: scikit-learn takes a number for a position."""
    for column in frame.columns:
        if not isinstance(column, str):
            raise InvalidFileError(
                f"{name}: the column name {column!r} is not text. Rename the column, or convert "
                "all names: frame.columns = frame.columns.astype(str)."
            )


def check_encoding(encoding: str) -> None:
    """Raise an error if there is no encoding of text with this name."""
    try:
        is_text = codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise ValueError(
            f"There is no encoding {shorten_repr(encoding)}. Known are, for example, utf-8, cp1252 "
            "(Western Europe), utf-16, shift_jis and gb18030."
        )


def missing_columns(name: str, present: list[str], wanted: list[str]) -> InvalidFileError:
    """The error of columns that are missing, with suggestions of similar ones."""
    unknown = list(dict.fromkeys(column for column in wanted if column not in present))
    hint = _similar_columns(unknown, present, [c for c in present if c not in wanted])
    listing = ", ".join(present[:20]) + (", …" if len(present) > 20 else "")
    noun = "column" if len(unknown) == 1 else "columns"
    missing = ", ".join(map(repr, unknown))
    return InvalidFileError(f"{name} has no {noun} {missing}.{hint} It has: {listing}.")


def _similar_columns(unknown: list[str], present: list[str], free: list[str]) -> str:
    """Suggestions for columns that are missing."""
    if any(set(str(column).split(",")) <= set(present) for column in unknown):
        return " Name each column separately."
    if len(present) == 1 and (found := _other_delimiter(present[0])):
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


def _other_delimiter(heading: str) -> str:
    """Message that a heading, read as one cell, has another delimiter; empty if it has none."""
    mark = max(",;\t", key=heading.count)
    if mark not in heading:
        return ""
    shown = repr(mark)
    return (
        f"It seems to be separated by {shown} (heading: {shorten_repr(heading)}). Use --delimiter "
        f"{shown}{', and --decimal , for decimal commas' if mark == ';' else ''}."
    )


def invalid_csv(
    file: IO[Any], start: int | None, name: str, delimiter: str, encoding: str, error: Exception
) -> InvalidFileError:
    """The error of a file that is not CSV, or has another encoding or delimiter."""
    if isinstance(error, UnicodeDecodeError):
        return not_text(file, name, encoding, error)
    heading = _first_line(file, start, encoding)
    if delimiter not in heading and (found := _other_delimiter(heading)):
        return InvalidFileError(f"{name} cannot be read. {found}")
    return InvalidFileError(
        f"{name} is not a valid CSV file: {' '.join(str(error).split())}. Put text that "
        f"contains the delimiter {delimiter!r} into quotes; if the file has another delimiter, "
        "set it."
    )


def _first_line(file: IO[Any], start: int | None, encoding: str) -> str:
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
