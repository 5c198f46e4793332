"""Rows of CSV that every reader reads alike."""

from collections.abc import Callable
from typing import Any


class CsvLines:
    r"""The file of a CSV writer: rows end in a line feed, line breaks in cells are in quotes.

    Before Python 3.13 the writer of the standard library puts into quotes only those breaks that
    its rows end in; a lone carriage return would be the end of a row to most readers. It must write
    with ``lineterminator=CsvLines.terminator``, which has both signs.

    Parameters
    ----------
    write : callable
        Gets each row, with the line feed at its end.

    Examples
    --------
    >>> import csv
    >>> from ambilearn._utils.csv_lines import CsvLines
    >>> lines = []
    >>> writer = csv.writer(CsvLines(lines.append), lineterminator=CsvLines.terminator)
    >>> writer.writerows([["two\rlines", 1], ["one", 2]])
    >>> lines
    ['"two\rlines",1\n', 'one,2\n']
    """

    terminator = "\r\n"

    def __init__(self, write: Callable[[str], Any]) -> None:
        self._write = write

    def write(self, row: str) -> None:
        """Pass a row on."""
        self._write(row.removesuffix(self.terminator) + "\n")
