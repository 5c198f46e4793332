"""Columns by pattern: ``A*`` for those of all annotators."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ambilearn._utils.text import shorten_list
from ambilearn.datasets.errors import InvalidFileError

if TYPE_CHECKING:
    import pandas as pd


def expand_patterns(name: str, frame: "pd.DataFrame", columns: Sequence[str]) -> list[str]:
    """Columns in which a name such as ``A*`` stands for all that match it, in their order."""
    expanded: list[str] = []
    for column in columns:
        found = [column]
        if column not in frame.columns and any(sign in column for sign in "*?["):
            found = [each for each in map(str, frame.columns) if fnmatchcase(each, column)]
            if not found:
                raise InvalidFileError(
                    f"{name}: no column matches {column!r}. The table has "
                    f"{shorten_list(list(frame.columns))}."
                )
        expanded += [each for each in found if each not in expanded]
    return expanded
