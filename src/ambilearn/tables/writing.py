"""Write a table as CSV, Parquet or JSON."""

import csv
import json
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from gzip import GzipFile
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from ambilearn._utils.files import CsvLines, atomic_write
from ambilearn._utils.labels import is_missing
from ambilearn._utils.optional import requires_extra
from ambilearn._utils.text import report_lone_surrogates
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import FORMATS, find_format

if TYPE_CHECKING:
    import pandas as pd

# Texts that are certainly numbers; 007 and 1_000 are not, and stay text.
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
_WRITTEN = {ending: format for ending, format in FORMATS.items() if format != "xlsx"}
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?([eE][-+]?\d+)?")
# The start of a formula in some spreadsheet, after characters that spreadsheets skip. Full-width
# signs come from Japanese and Chinese input methods.
_FORMULA = re.compile("[\\s\x00-\x1f\ufeff]*[=+\\-@＝＋－＠]|[\t\r\n']")
_SIGNED_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def format_of_name(name: str) -> str:
    """Format of a table by the ending of its name."""
    format = find_format(name)
    if format not in _WRITTEN.values():
        raise InvalidFileError(
            f"{name}: tables are written to {', '.join(_WRITTEN)} files; choose such a name."
        )
    return str(format)


def check_writable(format: str) -> None:
    """Raise an error if writing a format needs a package that is not installed."""
    if format == "parquet":
        with requires_extra("parquet", purpose="Writing Parquet files"):
            import pyarrow.parquet  # noqa: F401


@report_lone_surrogates()
def write_table(
    frame: "pd.DataFrame",
    target: str | os.PathLike[str] | IO[bytes],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    sep: str = "|",
    text_columns: Sequence[str] = (),
    escape_formulas: bool = False,
) -> None:
    """Write a table; a file appears under its name only once it is complete.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : path-like or binary file object
        Where to write.
    format : {"csv", "tsv", "parquet", "jsonl", "json"}, optional
        By default taken from the ending of the name; a name that ends in ``.csv.gz`` is compressed.
    delimiter : str, optional
        Between the cells of a CSV file; a comma by default.
    decimal : {".", ","}, default="."
        Decimal sign of numbers in a CSV file. Text is not changed.
    sep : str, default="|"
        Joins the items of a list in a CSV cell.
    text_columns : sequence of str, default=()
        Columns whose text stays text in Parquet and JSON even where all cells are numbers, as in
        a table that was read from a CSV file, and whose lists are joined by ``sep`` in CSV. Other
        such columns become numbers, unless different texts would become equal.
    escape_formulas : bool, default=False
        Put an apostrophe before text in a CSV file that a spreadsheet would run as a formula. This
        changes the cells, so use it for files that people view, not for further processing.

    Raises
    ------
    ValueError
        For text that the format cannot hold.
    """
    with ExitStack() as opened:
        if isinstance(target, (str, os.PathLike)):
            path = Path(target)
            format = format or format_of_name(os.fspath(target))
            target = opened.enter_context(atomic_write(path))
            if path.suffix.lower() == ".gz":
                # Without name and time, the same table gives the same file.
                packed = GzipFile("", "wb", fileobj=target, mtime=0)
                target = cast(IO[bytes], opened.enter_context(packed))
        if format in ("csv", "tsv"):
            flat = _flatten_cells(frame, sep, text_columns)
            flat = _escape_formulas(flat) if escape_formulas else flat
            _write_csv(flat, target, delimiter or ("," if format == "csv" else "\t"), decimal)
        elif format == "parquet":
            _write_parquet(_convert_numbers(frame, text_columns), target)
        else:
            _write_json(_convert_numbers(frame, text_columns), target, is_list=format == "json")


def _write_json(frame: "pd.DataFrame", file: IO[bytes], *, is_list: bool) -> None:
    start, between, end = (b"[", b",", b"]\n") if is_list else (b"", b"", b"")
    file.write(start)
    for i, record in enumerate(frame.to_dict("records")):
        # Half a character is written as JSON names it; nothing else cannot be encoded.
        line = _json_line(record, i).encode(errors="backslashreplace") + b"\n"
        file.write(between + line if i else line)
    file.write(end)


def _json_line(record: dict[str, Any], row: int) -> str:
    try:
        return json.dumps(_without_nan(record), ensure_ascii=False, allow_nan=False, default=str)
    except ValueError as error:
        raise InvalidFileError(
            f"Row {row} of the table cannot be written as JSON, which has no infinite numbers. "
            "Choose CSV or Parquet."
        ) from error


def _write_csv(frame: "pd.DataFrame", file: IO[bytes], delimiter: str, decimal: str) -> None:
    lines = CsvLines(lambda line: file.write(line.encode()))
    form: dict[str, Any] = {"lineterminator": lines.terminator, "quoting": csv.QUOTE_MINIMAL}
    heading = [str(column) for column in frame.columns]
    if len(heading) == 1:  # readers skip lines of nothing but blanks
        form["quoting"] = csv.QUOTE_ALL
    # What looks like a byte-order mark at the very beginning would be taken for one.
    marked = {"quoting": csv.QUOTE_ALL} if "".join(heading[:1]).startswith("\ufeff") else {}
    csv.writer(lines, delimiter=delimiter, **form | marked).writerow(heading)
    frame.to_csv(lines, header=False, index=False, sep=delimiter, decimal=decimal, **form)


def _escape_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The table with every text, headings included, as no spreadsheet runs it."""
    texts = frame.columns[[dtype.kind not in "biufcmM" for dtype in frame.dtypes]]
    frame = replace_columns(
        frame, {column: [*map(escape_formula, frame[column].to_list())] for column in texts}
    )
    frame.columns = frame.columns.map(escape_formula)
    return frame


def _write_parquet(frame: "pd.DataFrame", file: IO[bytes]) -> None:
    with requires_extra("parquet", purpose="Writing Parquet files"):
        from pyarrow import ArrowException, Table, parquet
    try:
        table = Table.from_pandas(frame, preserve_index=False)
        # Arrow stores the types. pandas cannot read the metadata that it would add: "data type
        # 'list<element: string>[pyarrow]' not understood".
        parquet.write_table(table.replace_schema_metadata(), file)
    except (ArrowException, OverflowError) as error:  # the latter by a number of 400 digits
        reason = " ".join(str(part) for part in error.args)
        raise InvalidFileError(f"The table cannot be written as Parquet: {reason}") from error


def _flatten_cells(frame: "pd.DataFrame", sep: str, text_columns: Sequence[str]) -> "pd.DataFrame":
    """The table with lists as text, joined by ``sep``, and other nested values as JSON."""
    nested = frame.columns[[t.kind == "O" and t != "str" for t in frame.dtypes]]
    flat = {
        column: [_flatten(cell, sep, column in text_columns) for cell in frame[column].to_list()]
        for column in nested
    }
    return replace_columns(frame, flat)


def _flatten(cell: Any, sep: str, is_text: bool) -> Any:
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list):
        # A list of labels is written as it is read; one of numbers, an embedding, as JSON.
        are_numbers = bool(cell) and all(
            isinstance(item, (int, float)) and not isinstance(item, bool) for item in cell
        )
        return json.dumps(cell) if are_numbers and not is_text else sep.join(map(str, cell))
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict) else cell


def _convert_numbers(frame: "pd.DataFrame", text_columns: Sequence[str]) -> "pd.DataFrame":
    """The table with columns of text that are all numbers as numbers, empty cells as missing."""
    import pandas as pd

    converted = {}
    for column in frame:
        cells = frame[column]
        if column in text_columns or not isinstance(cells.dtype, pd.StringDtype):
            continue
        filled = [cell for cell in cells if cell]
        for pattern, dtype, number in ((_INTEGER, "Int64", int), (_NUMBER, "Float64", float)):
            if filled and all(map(pattern.fullmatch, filled)):
                values = set(map(number, filled))
                # Versions such as 1.1 and 1.10, or ids of many digits, must stay different.
                if len(values) == len(set(filled)) and all(map(isfinite, values)):
                    numbers = cells.where(cells != "").map(number, na_action="ignore")
                    converted[column] = numbers.astype(dtype)
                break
    return replace_columns(frame, converted)


def replace_columns(frame: "pd.DataFrame", columns: dict[str, Any]) -> "pd.DataFrame":
    """The table with some columns replaced or added (``assign`` rejects a column "self")."""
    frame = frame.copy(deep=False)
    for name, values in columns.items():
        frame[name] = values
    return frame


def append_columns(name: str, frame: "pd.DataFrame", columns: dict[str, Any]) -> "pd.DataFrame":
    """The table with further columns at its end; an error if it has their names already."""
    taken = [column for column in columns if column in frame.columns]
    if taken:
        raise InvalidFileError(
            f"{name} has a column {taken[0]!r} already. Give the new columns other names with a "
            "prefix (--prefix)."
        )
    return replace_columns(frame, columns)


def _without_nan(value: Any) -> Any:
    """A row, or a value in it, without NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, np.ndarray)):
        return [_without_nan(item) for item in value]
    return None if is_missing(value) else value


def escape_formula(cell: Any) -> Any:
    """A cell with an apostrophe before it if a spreadsheet would take its text for a formula.

    A formula can read files, send their content and, if the user agrees, start programs [1]_. Other
    cells than text stay unchanged. Text that begins with an apostrophe gets another one, so
    removing one apostrophe from each cell that begins with one restores the table.

    References
    ----------
    .. [1] OWASP, "CSV Injection",
       https://owasp.org/www-community/attacks/CSV_Injection

    >>> [escape_formula(cell) for cell in ("=1+1", "-1.5", "-x", "'tis", "anna", 3)]
    ["'=1+1", '-1.5', "'-x", "''tis", 'anna', 3]
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _SIGNED_NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
