"""Cells that a spreadsheet would run as a formula, and how to write them as text."""

import re
from typing import Any

# What begins a formula in some spreadsheet, after signs that some of them pass over. Signs of full
# width are those of Japanese and Chinese input.
_FORMULA = re.compile("[\\s\x00-\x1f\ufeff]*[=+\\-@＝＋－＠]|[\t\r\n']")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def escape_formula(cell: Any) -> Any:
    """A cell with an apostrophe before it if a spreadsheet would take its text for a formula.

    It may then read files, send what it finds and, if the user agrees, start programs [1]_. Numbers
    stay as they are. Text that begins with an apostrophe gets another one: whoever removes one
    apostrophe from the beginning of each cell that has one has the table as it was.

    Parameters
    ----------
    cell : object
        What is no text is left as it is.

    Returns
    -------
    object

    References
    ----------
    .. [1] OWASP, "CSV Injection",
       https://owasp.org/www-community/attacks/CSV_Injection

    Examples
    --------
    >>> from ambilearn.tables.formulas import escape_formula
    >>> [escape_formula(cell) for cell in ("=1+1", "-1.5", "-x", "'tis", "anna", 3)]
    ["'=1+1", '-1.5', "'-x", "''tis", 'anna', 3]
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
