"""Write a table as CSV, Parquet or JSON."""

import csv
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from gzip import GzipFile
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from ambilearn._utils.files import CsvLines, atomic_write
from ambilearn._utils.text import report_lone_surrogates, requires_extra
from ambilearn._utils.types import DataFrame
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import FORMATS, find_format

_WRITTEN = {ending: format for ending, format in FORMATS.items() if format != "xlsx"}


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
    frame: DataFrame,
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
            if escape_formulas:
                from ambilearn.tables import cell_texts

                flat = cell_texts.escape_formulas(flat)
            _write_csv(flat, target, delimiter or ("," if format == "csv" else "\t"), decimal)
            return
        from ambilearn.tables.cell_texts import convert_numbers

        typed = replace_columns(frame, convert_numbers(frame, text_columns))
        if format == "parquet":
            from ambilearn.datasets.parquet import write_parquet

            write_parquet(typed, target)
        else:
            from ambilearn.datasets.json_records import write_json

            write_json(typed, target, is_list=format == "json")


def _write_csv(frame: DataFrame, file: IO[bytes], delimiter: str, decimal: str) -> None:
    lines = CsvLines(lambda line: file.write(line.encode()))
    form: dict[str, Any] = {"lineterminator": lines.terminator, "quoting": csv.QUOTE_MINIMAL}
    heading = [str(column) for column in frame.columns]
    if len(heading) == 1:  # readers skip lines of nothing but blanks
        form["quoting"] = csv.QUOTE_ALL
    # What looks like a byte-order mark at the very beginning would be taken for one.
    marked = {"quoting": csv.QUOTE_ALL} if "".join(heading[:1]).startswith("\ufeff") else {}
    csv.writer(lines, delimiter=delimiter, **form | marked).writerow(heading)
    frame.to_csv(lines, header=False, index=False, sep=delimiter, decimal=decimal, **form)


def _flatten_cells(frame: DataFrame, sep: str, text_columns: Sequence[str]) -> DataFrame:
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


def replace_columns(frame: DataFrame, columns: dict[str, Any]) -> DataFrame:
    """The table with some columns replaced or added (``assign`` rejects a column "self")."""
    frame = frame.copy(deep=False)
    for name, values in columns.items():
        frame[name] = values
    return frame


def append_columns(name: str, frame: DataFrame, columns: dict[str, Any]) -> DataFrame:
    """The table with further columns at its end; an error if it has their names already."""
    taken = [column for column in columns if column in frame.columns]
    if taken:
        raise InvalidFileError(
            f"{name} has a column {taken[0]!r} already. Give the new columns other names with a "
            "prefix (--prefix)."
        )
    return replace_columns(frame, columns)
