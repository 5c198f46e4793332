"""Read a sheet of an Excel file as text, as from a CSV file."""

import warnings
from collections.abc import Iterator
from datetime import datetime, time
from typing import IO, Any
from xml.etree.ElementTree import iterparse
from zipfile import BadZipFile, ZipFile, ZipInfo

from ambilearn._utils.text import MISSING_WORDS, requires_extra, shorten_list
from ambilearn._utils.types import DataFrame
from ambilearn._utils.warnings import warn_user
from ambilearn.datasets.errors import InvalidFileError, too_large

_MAX_ROWS, _MAX_COLUMNS = 2**20, 2**14  # of a sheet in Excel
_MEMORY_PER_XML_BYTE = 16  # bytes, approximate upper bound


def read_excel(
    file: IO[bytes], name: str, *, sheet: str | None = None, max_bytes: int
) -> DataFrame:
    """Read a sheet of an Excel file, by default the first visible one. No code is run.

    All cells become text: numbers with a decimal point, truth values as ``TRUE`` and ``FALSE``,
    dates as ``2021-02-28``; a formula is its saved result. The first row with a value is the
    heading. Empty rows and columns around the table are removed. If there are several sheets
    and none is named, a warning names the one that is read.

    Raises InvalidFileError if the file is damaged or, unpacked, larger than ``max_bytes``, or has
    merged cells, a formula without a saved result, or a cell with an error such as ``#REF!``.
    """
    if isinstance(file.read(0), str):
        raise InvalidFileError(f"{name} is open as text: open an Excel file with mode 'rb'.")
    with requires_extra("excel", purpose="Reading Excel files"):
        import openpyxl.reader.excel
        import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unsupported features, such as styles
            reader = openpyxl.reader.excel.ExcelReader(file, read_only=True, data_only=True)
            reader.archive = _BoundedArchive(file, name, max_bytes)
            reader.read()
            workbook = reader.wb
            chosen, others = _find_sheet(workbook, name, sheet)
            where = f"{name}, sheet {chosen.title!r}"
            with workbook._archive.open(chosen._worksheet_path) as source:
                n_rows, n_columns = _inspect_sheet(source, where)
            if 8 * n_rows * n_columns > max_bytes:
                raise too_large(name, 8 * n_rows * n_columns, max_bytes)
            chosen.reset_dimensions()  # those in the file may be wrong
            rows = list(_read_rows(chosen, where, n_columns, max_bytes))
    except Exception as error:  # with a damaged file, openpyxl raises many kinds of errors
        cause: BaseException = error
        while cause.__cause__ is not None:  # the first cause has the shortest message
            cause = cause.__cause__
        if isinstance(cause, InvalidFileError):
            raise cause from None
        raise InvalidFileError(_describe_damage(name, cause)) from error
    if others and sheet is None:
        warn_user(
            f"{name}: only the sheet {chosen.title!r} is read, not "
            f"{shorten_list(list(map(repr, others)), 3)}. To read another sheet, "
            "name it with sheet (--sheet)."
        )
    heading, rows = _crop(rows)
    frame = pd.DataFrame(rows, columns=pd.RangeIndex(len(heading)))
    frame = frame.astype(pd.StringDtype(na_value=float("nan")))
    frame.columns = pd.Index(heading, dtype=object)
    return frame


class _BoundedArchive(ZipFile):
    """The parts of an Excel file; an error before those that were read take too much memory."""

    def __init__(self, file: IO[bytes], name: str, max_bytes: int) -> None:
        super().__init__(file)
        self._name, self._max_bytes = name, max_bytes
        self._sizes: dict[str, int] = {}  # of the parts that were opened, whatever their endings

    def open(self, name: Any, *arguments: Any, **options: Any) -> Any:
        part = name if isinstance(name, ZipInfo) else self.getinfo(name)
        self._sizes[part.filename] = part.file_size  # no more than this is unpacked
        size = _MEMORY_PER_XML_BYTE * sum(self._sizes.values())
        if size > self._max_bytes:
            raise too_large(self._name, size, self._max_bytes)
        return super().open(name, *arguments, **options)


def _describe_damage(name: str, error: BaseException) -> str:
    if isinstance(error, BadZipFile):
        return (
            f"{name} is not an Excel file (.xlsx), or it is damaged: {error}. If it is an .xls "
            "file or has a password, save it as .xlsx without a password."
        )
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return f"{name} is a damaged Excel file: {reason}. Open it in a spreadsheet and save it again."


def _find_sheet(workbook: Any, name: str, wanted: str | None) -> tuple[Any, list[str]]:
    """The sheet of this name, or the first that is not hidden; and the names of the others."""
    sheets = workbook.worksheets
    if not sheets:
        raise InvalidFileError(f"{name} has no sheet with cells.")
    if wanted is None:
        sheet = next((each for each in sheets if each.sheet_state == "visible"), sheets[0])
    elif not (named := [each for each in sheets if each.title == wanted]):
        titles = shorten_list([repr(each.title) for each in sheets])
        raise InvalidFileError(f"{name} has no sheet {wanted!r}. It has: {titles}.")
    else:
        sheet = named[0]
    return sheet, [each.title for each in sheets if each is not sheet]


def _inspect_sheet(source: IO[bytes], where: str) -> tuple[int, int]:
    """Rows and columns of the sheet; reject formulas without result and merged cells."""
    from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

    column = widest = previous = 0
    merged: list[str] = []
    for _, element in iterparse(source):
        tag = element.tag.rpartition("}")[2]
        if tag == "c":
            coordinate = element.get("r")
            column = coordinate_to_tuple(coordinate)[1] if coordinate else column + 1
            inside = {child.tag.rpartition("}")[2]: child.text for child in element}
            # The saved result of a formula of type "str" may be empty text.
            if "f" in inside and not inside.get("v") and element.get("t") != "str":
                raise InvalidFileError(
                    f"{where}, cell {coordinate}: a formula without a saved result. Open the file "
                    "in a spreadsheet program, and save it again."
                )
            widest = max(widest, column)
        elif tag == "row":
            row = int(element.get("r") or previous + 1)
            if not previous < row <= _MAX_ROWS or widest > _MAX_COLUMNS:
                raise ValueError(f"row {row}, column {widest} is out of range")
            previous, column = row, 0
            element.clear()
        elif tag == "mergeCell":
            merged.append(element.get("ref", ""))
    for ref in merged:
        first_column, first_row, last_column, last_row = range_boundaries(ref)
        several = (first_column, first_row) != (last_column, last_row)
        if several and first_row <= previous and first_column <= widest:
            raise InvalidFileError(
                f"{where}: the cells {ref} are merged. Unmerge them and fill in each cell."
            )
    return previous, widest


def _read_rows(sheet: Any, where: str, n_columns: int, max_bytes: int) -> Iterator[list[str]]:
    """The rows as text, all of the same length."""
    size = 0
    for cells in sheet.iter_rows():
        row = [_as_text(cell.value) for cell in cells]
        for cell, text in zip(cells, row, strict=True):
            if cell.data_type == "e" and text not in MISSING_WORDS:
                raise InvalidFileError(
                    f"{where}, cell {cell.coordinate}: the error {text}. Correct the formula, or "
                    "clear the cell."
                )
        size += sum(map(len, row))
        if size > max_bytes:  # many cells may refer to one stored text
            raise too_large(where, size, max_bytes)
        yield row + [""] * (n_columns - len(row))


def _as_text(value: Any) -> str:
    """A cell as in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return str(value)


def _crop(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Heading and rows without empty rows and columns around them."""
    filled = [i for i, row in enumerate(rows) if any(row)]
    if not filled:
        return [], []
    rows = rows[filled[0] : filled[-1] + 1]
    columns = [j for j in range(len(rows[0])) if any(row[j] for row in rows)]
    kept = slice(columns[0], columns[-1] + 1)
    return rows[0][kept], [row[kept] for row in rows[1:]]
