"""Read CSV, Excel, Parquet and JSON files as data frames, without running code."""

import codecs
import gzip
import os
import zlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, Any

from ambilearn._utils.text import requires_extra, shorten_list, shorten_repr
from ambilearn._utils.types import DataFrame
from ambilearn.datasets.errors import InvalidFileError, too_large

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".xlsx": "xlsx",
}
# UTF-32 comes first, because its mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_COMPRESSED = ".gz"
_EMPTY_FILE = "{name} is empty: it has no rows and no column names. Check that it is complete."


def read_frame(
    source: str | os.PathLike[str] | IO[Any],
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    allow_empty: bool = False,
    max_bytes: int = 2**33,
) -> DataFrame:
    """Read a table without changing any cell, so that it can be written back unchanged.

    ``source`` is a path or an open file, text or binary; network addresses are not supported.
    ``format`` ("csv", "tsv", "parquet", "jsonl", "json", "xlsx") is by default chosen by the file
    extension; CSV, TSV and JSON lines may be compressed by gzip (``.csv.gz``). A file that needs
    more than ``max_bytes`` in memory to be unpacked is rejected before it is unpacked.

    The cells and headings of a CSV file and of a sheet of an Excel file (by default the first) are
    text (``007`` stays ``007``, ``NA`` stays ``NA``, an empty cell is empty text); JSON values are
    Python objects, Parquet columns have their own types. Text is in ``encoding``; by default UTF-8,
    or UTF-16 with a byte-order mark.
    """
    name = source_name(source)
    format = format or find_format(name)
    if format not in ("parquet", "xlsx"):  # whose readers name their own extras
        with requires_extra("data", purpose="Reading tables"):
            import pandas  # noqa: F401
    readers: dict[str, Callable[[Any, str], DataFrame]] = {
        "csv": partial(_read_csv, delimiter=delimiter or ",", encoding=encoding),
        "tsv": partial(_read_csv, delimiter=delimiter or "\t", encoding=encoding),
        "parquet": partial(_read_parquet, max_bytes=max_bytes),
        "jsonl": partial(_read_json, encoding=encoding, is_list=False),
        "json": partial(_read_json, encoding=encoding, is_list=True),
        "xlsx": partial(_read_excel, sheet=sheet, max_bytes=max_bytes),
    }
    if format not in readers:
        raise InvalidFileError(
            f"{name}: tables are read from {', '.join(FORMATS)} files; pass format= if the file "
            "has another extension. (Pickle files are never read: they can run code.)"
        )
    if sheet is not None and format != "xlsx":
        raise InvalidFileError(f"{name} is not an Excel file: leave out sheet (--sheet).")
    _check_encoding(encoding)
    if not isinstance(source, (str, os.PathLike)):
        frame = readers[format](_unpacked(source, name, max_bytes), name)
    else:
        with open(source, "rb") as file:
            frame = readers[format](_unpacked(file, name, max_bytes), name)
    check_unique_columns(name, frame)
    if frame.empty and not allow_empty:
        if not len(frame.columns):
            raise InvalidFileError(_EMPTY_FILE.format(name=name))
        names = shorten_list(list(map(shorten_repr, frame)))
        raise InvalidFileError(
            f"{name}: the table has no rows, only a heading: {names}. Add rows; if the heading is "
            "a row of data, add a line with the column names above it."
        )
    return frame


def find_format(name: str) -> str | None:
    """Format of a file by its ending; ``.csv.gz`` is CSV.

    >>> [find_format(name) for name in ("a.CSV", "b.tsv.gz", "c.xlsx.gz", "d.txt")]
    ['csv', 'tsv', None, None]
    """
    path = Path(name)
    if path.suffix.lower() != _COMPRESSED:
        return FORMATS.get(path.suffix.lower())
    format = FORMATS.get(Path(path.stem).suffix.lower())
    return format if format in ("csv", "tsv", "jsonl") else None


def _unpacked(file: IO[Any], name: str, max_bytes: int) -> IO[Any]:
    """The content of a file that is compressed by gzip; other files unchanged."""
    if Path(name).suffix.lower() != _COMPRESSED or isinstance(file.read(0), str):
        return file
    content = BytesIO()
    try:
        with gzip.open(file) as packed:
            while block := packed.read(2**20):
                content.write(block)
                if content.tell() > max_bytes:
                    raise too_large(name, content.tell(), max_bytes)
    except (OSError, EOFError, zlib.error) as error:
        reason = str(error).rstrip(".")
        raise InvalidFileError(
            f"{name} is not a valid gzip file: {reason}. Compress or download it again."
        ) from error
    content.seek(0)
    return content


def _check_encoding(encoding: str | None) -> None:
    if encoding is None:
        return
    try:
        is_text = codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise ValueError(
            f"There is no encoding {shorten_repr(encoding)}. Known are, for example, utf-8, cp1252 "
            "(Western Europe), utf-16, shift_jis and gb18030."
        )


def source_name(source: Any) -> str:
    """Name of a file for messages."""
    return str(getattr(source, "name", "table")) if hasattr(source, "read") else str(source)


def check_frame(name: str, frame: Any) -> None:
    """Raise an error if a table from the user is not a data frame with different column names."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        kind = type(frame)
        raise TypeError(
            f"{name} is of type {kind.__module__.partition('.')[0]}.{kind.__name__}: pass a pandas "
            "DataFrame. Polars and PyArrow tables have a method to_pandas()."
        )
    check_unique_columns(name, frame)


def check_text_columns(name: str, frame: DataFrame) -> None:
    """Raise an error if a column name is not text: scikit-learn takes a number for a position."""
    for column in frame.columns:
        if not isinstance(column, str):
            raise InvalidFileError(
                f"{name}: the column name {column!r} is not text. Rename the column, or convert "
                "all names: frame.columns = frame.columns.astype(str)."
            )


def check_unique_columns(name: str, frame: DataFrame) -> None:
    """Raise an error if two columns have the same name."""
    if len(twice := [column for column, n in Counter(frame.columns).items() if n > 1]):
        raise InvalidFileError(
            f"{name}: the column {twice[0]!r} occurs more than once. Rename one of them."
        )


def check_columns(name: str, frame: DataFrame, wanted: list[str]) -> None:
    """Raise an error that names missing columns and suggests similar ones."""
    unknown = list(dict.fromkeys(column for column in wanted if column not in frame.columns))
    if not unknown:
        return
    from ambilearn.datasets.advice import similar_columns

    present = [str(column) for column in frame.columns]
    hint = similar_columns(unknown, present, [c for c in present if c not in wanted])
    listing = ", ".join(present[:20]) + (", …" if len(present) > 20 else "")
    noun = "column" if len(unknown) == 1 else "columns"
    missing = ", ".join(map(repr, unknown))
    raise InvalidFileError(f"{name} has no {noun} {missing}.{hint} It has: {listing}.")


def _read_csv(
    file: IO[Any], name: str, *, delimiter: str, encoding: str | None = None
) -> DataFrame:
    import pandas as pd

    file, encoding = _find_encoding(file, encoding)
    start = file.tell() if file.seekable() else None
    try:
        frame = pd.read_csv(
            file,
            sep=delimiter,
            header=None,  # pandas would rename empty and repeated headings
            # dtype=str means this type only since pandas 3.
            dtype=pd.StringDtype(na_value=float("nan")),
            index_col=False,
            keep_default_na=False,
            encoding=encoding,
            low_memory=False,
        )
    except pd.errors.EmptyDataError as error:
        raise InvalidFileError(_EMPTY_FILE.format(name=name)) from error
    except UnicodeDecodeError as error:
        from ambilearn.datasets.advice import not_text

        raise not_text(file, name, encoding, error) from error
    except (ValueError, OverflowError) as error:  # pandas' parser errors are ValueErrors
        from ambilearn.datasets.advice import first_line, other_delimiter

        heading = first_line(file, start, encoding)
        if delimiter not in heading and (found := other_delimiter(heading)):
            raise InvalidFileError(f"{name} cannot be read. {found}") from error
        raise InvalidFileError(
            f"{name} is not a valid CSV file: {' '.join(str(error).split())}. Put text that "
            f"contains the delimiter {delimiter!r} into quotes; if the file has another delimiter, "
            "set it."
        ) from error
    heading, frame = frame.iloc[0].to_list(), frame.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(heading, dtype=object)
    return frame


def _find_encoding(file: IO[Any], encoding: str | None = None) -> tuple[IO[Any], str]:
    """The file at its start, and its encoding: as given, by the byte-order mark, or UTF-8."""
    if isinstance(file.read(0), str):
        return file, "utf-8-sig"
    file = _seekable(file)
    if encoding is not None:
        utf8 = codecs.lookup(encoding).name == "utf-8"
        return file, "utf-8-sig" if utf8 else encoding  # reads text with and without a mark
    start = file.tell()
    begin = file.read(4)
    file.seek(start)
    found = (name for mark, name in _BYTE_ORDER_MARKS.items() if begin.startswith(mark))
    return file, next(found, "utf-8-sig")


def _seekable(file: IO[Any]) -> IO[Any]:
    return file if file.seekable() else BytesIO(file.read())


def _read_json(file: IO[Any], name: str, *, encoding: str | None, is_list: bool) -> DataFrame:
    from ambilearn.datasets.json_records import read_lines, read_list

    file, found = _find_encoding(file, encoding)
    if encoding is not None or found != "utf-8-sig":  # line breaks may be several bytes
        content = file.read()
        try:
            text = content if isinstance(content, str) else content.decode(found)
        except UnicodeDecodeError as error:
            from ambilearn.datasets.advice import not_text

            raise not_text(BytesIO(content), name, found, error) from error
        file = StringIO(text, newline="\n")
    return read_list(file, name) if is_list else read_lines(file, name)


def _read_parquet(file: IO[Any], name: str, *, max_bytes: int) -> DataFrame:
    from ambilearn.datasets.parquet import read_parquet

    return read_parquet(_seekable(file), name, max_bytes=max_bytes)


def _read_excel(file: IO[Any], name: str, *, sheet: str | None, max_bytes: int) -> DataFrame:
    from ambilearn.datasets.excel import read_excel

    if isinstance(file.read(0), str):
        raise InvalidFileError(f"{name} is open as text: open an Excel file with mode 'rb'.")
    return read_excel(_seekable(file), name, sheet=sheet, max_bytes=max_bytes)
