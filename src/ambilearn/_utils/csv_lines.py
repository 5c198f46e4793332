"""CSV rows that all readers parse in the same way."""

from collections.abc import Callable


class CsvLines:
    r"""File object for a CSV writer: rows end with a line feed, cells with line breaks are quoted.

    Before Python 3.13, ``csv.writer`` quotes only the line breaks that occur in its line
    terminator, but most readers end a row at a lone carriage return. Pass
    ``lineterminator=CsvLines.terminator``, which contains both characters.

    ``write`` is called with each row, including the line feed.

    >>> import csv
    >>> lines = []
    >>> writer = csv.writer(CsvLines(lines.append), lineterminator=CsvLines.terminator)
    >>> writer.writerows([["two\rlines", 1], ["one", 2]])
    >>> lines
    ['"two\rlines",1\n', 'one,2\n']
    """

    terminator = "\r\n"

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def write(self, row: str) -> None:
        """Write a row."""
        self._write(row.removesuffix(self.terminator) + "\n")
