"""Answers in long form that are about to be read as something else."""

import math
from contextlib import suppress
from typing import TYPE_CHECKING

from ambilearn._utils.warnings import warn_user

if TYPE_CHECKING:
    import pandas as pd


def warn_of_long_form(name: str, frame: "pd.DataFrame", column: str) -> None:
    """Warn if a table that is read as one of candidates has, by all appearances, answers."""
    if found := looks_like_answers(frame, column):
        item, annotator = found
        warn_user(
            f"{name} looks like answers in long form, one for each {item!r} and {annotator!r}, and "
            "is read as one row for each thing to label. If it is answers, use "
            "ambilearn.tables.read_answer_table, on the command line: "
            f"--item {item} --annotator {annotator} --answer {column} --features-from FILE."
        )


def looks_like_answers(frame: "pd.DataFrame", column: str) -> tuple[str, str] | None:
    """Item and annotator column of a table that, by all appearances, has one answer a row.

    Few columns, and two of them with values that come again and again, but never the same two
    together: no annotator is asked twice about an item. Decimals measure, they name neither.

    Parameters
    ----------
    frame : DataFrame
        The table.
    column : str
        The column with the labels.

    Returns
    -------
    columns : (str, str) or None
        None for any other table.
    """
    others = [name for name in frame.columns if name != column]
    if len(frame) < 6 or not 2 <= len(others) <= 3:
        return None
    cells = {name: list(map(str, frame[name].to_list())) for name in others}
    different = {name: len(set(cells[name])) for name in others}
    repeated = [
        name
        for name in others
        if 1 < different[name] <= len(frame) / 1.5 and not any(map(_is_decimal, cells[name]))
    ]
    for one in repeated:
        for other in repeated:
            together = len(set(zip(cells[one], cells[other], strict=True)))
            if different[one] >= different[other] and one != other and together == len(frame):
                return one, other
    return None


def _is_decimal(text: str) -> bool:
    """Whether a cell is a number that is not whole: 1.5, but neither 1.0 nor a word."""
    with suppress(ValueError):
        return math.isfinite(number := float(text)) and not number.is_integer()
    return False
