"""Read CSV, Excel, Parquet and JSON files as data frames, without running code."""

import codecs
import gzip
import os
import zlib
from collections import Counter
from contextlib import nullcontext
from io import BytesIO
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
_UTF8 = "utf-8-sig"  # with and without a mark
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
    if format is None or format not in FORMATS.values():
        raise InvalidFileError(
            f"{name}: tables are read from {', '.join(FORMATS)} files, and .csv.gz, .tsv.gz and "
            ".jsonl.gz; use format (--format) if the file has another extension. (Pickle files are "
            "never read: they can run code.)"
        )
    if sheet is not None and format != "xlsx":
        raise InvalidFileError(f"{name} is not an Excel file: leave out sheet (--sheet).")
    if encoding is not None:
        from ambilearn.datasets.advice import check_encoding

        check_encoding(encoding)
    with (
        open(source, "rb") if isinstance(source, (str, os.PathLike)) else nullcontext(source)
    ) as file:
        frame = _read(file, name, format, encoding, delimiter, sheet, max_bytes)
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


def _read(
    file: IO[Any],
    name: str,
    format: str,
    encoding: str | None,
    delimiter: str | None,
    sheet: str | None,
    max_bytes: int,
) -> DataFrame:
    is_text = isinstance(file.read(0), str)
    if Path(name).suffix.lower() == _COMPRESSED and not is_text:
        file = _unpacked(file, name, max_bytes)
    if not file.seekable() and not is_text:
        file = BytesIO(file.read())
    if format == "xlsx":
        from ambilearn.datasets.excel import read_excel

        return read_excel(file, name, sheet=sheet, max_bytes=max_bytes)
    if format == "parquet":
        from ambilearn.datasets.parquet import read_parquet

        return read_parquet(file, name, max_bytes=max_bytes)
    with requires_extra("data", purpose="Reading tables"):
        import pandas  # noqa: F401
    found = _UTF8 if is_text else _find_encoding(file, encoding)
    if format in ("csv", "tsv"):
        return _read_csv(file, name, delimiter or ("," if format == "csv" else "\t"), found)
    from ambilearn.datasets.json_records import read_json

    return read_json(file, name, encoding=found, is_list=format == "json")


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


def split_ending(name: str) -> tuple[str, str]:
    """The name of a file without its folder and ending, and the ending.

    >>> split_ending("tables/people.v2.csv.gz"), split_ending("answers.xlsx")
    (('people.v2', '.csv.gz'), ('answers', '.xlsx'))
    """
    path = Path(name)
    several = path.suffix.lower() == _COMPRESSED
    ending = "".join(path.suffixes[-2:]) if several else path.suffix
    return path.name.removesuffix(ending), ending


def _unpacked(file: IO[Any], name: str, max_bytes: int) -> IO[Any]:
    """The content of a file that is compressed by gzip."""
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


def source_name(source: Any) -> str:
    """Name of a file for messages."""
    return str(getattr(source, "name", "table")) if hasattr(source, "read") else str(source)


def check_unique_columns(name: str, frame: DataFrame) -> None:
    """Raise an error if two columns have the same name."""
    if len(twice := [column for column, n in Counter(frame.columns).items() if n > 1]):
        raise InvalidFileError(
            f"{name}: the column {twice[0]!r} occurs more than once. Rename one of them."
        )


def check_columns(name: str, frame: DataFrame, wanted: list[str]) -> None:
    """Raise an error that names missing columns and suggests similar ones."""
    if any(column not in frame.columns for column in wanted):
        from ambilearn.datasets.advice import missing_columns

        raise missing_columns(name, [*map(str, frame.columns)], wanted)


def _read_csv(file: IO[Any], name: str, delimiter: str, encoding: str) -> DataFrame:
    import pandas as pd

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
    except (ValueError, OverflowError) as error:  # pandas' parser errors are ValueErrors
        from ambilearn.datasets.advice import invalid_csv

        raise invalid_csv(file, start, name, delimiter, encoding, error) from error
    heading, frame = frame.iloc[0].to_list(), frame.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(heading, dtype=object)
    return frame


def _find_encoding(file: IO[bytes], encoding: str | None) -> str:
    """Encoding of a binary file: as given, by its byte-order mark, or UTF-8."""
    if encoding is not None:
        return _UTF8 if codecs.lookup(encoding).name == "utf-8" else encoding
    start = file.tell()
    begin = file.read(4)
    file.seek(start)
    return next((name for mark, name in _BYTE_ORDER_MARKS.items() if begin.startswith(mark)), _UTF8)
