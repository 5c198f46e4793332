"""Change texts for the format that is written: numbers, and no formulas for spreadsheets."""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

from ambilearn._utils.types import DataFrame

# Texts that are certainly numbers; 007 and 1_000 are not, and stay text.
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?([eE][-+]?\d+)?")
# The start of a formula in some spreadsheet, after characters that spreadsheets skip. Full-width
# signs come from Japanese and Chinese input methods.
_FORMULA = re.compile("[\\s\x00-\x1f\ufeff]*[=+\\-@＝＋－＠]|[\t\r\n']")
_SIGNED_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def convert_numbers(frame: DataFrame, text_columns: Sequence[str]) -> dict[str, Any]:
    """Columns of text that are all numbers, as numbers; empty cells are missing."""
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
    return converted


def escape_formulas(frame: DataFrame) -> DataFrame:
    """The table with every text, headings included, as no spreadsheet runs it."""
    escaped = frame.copy(deep=False)
    for column in frame.columns[[dtype.kind not in "biufcmM" for dtype in frame.dtypes]]:
        escaped[column] = [*map(escape_formula, frame[column].to_list())]
    escaped.columns = frame.columns.map(escape_formula)
    return escaped


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
