"""Cells that are lists of numbers: embeddings, spectra, histograms."""

import json
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import pluralize, shorten_repr
from ambilearn.datasets.errors import InvalidFileError

# A number as NumPy prints it.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|[+-]?inf")

# A list of many numbers of similar size is an embedding, or pixels: it has no units.
_NUMBERS_OF_EMBEDDING, _MOST_UNEQUAL = 16, 20.0


def find_kind_of_lists(where: str, cells: list[Any]) -> tuple[str, int] | None:
    """Kind of the lists in a column, and how many numbers each has; None if cells are no lists.

    The kind is ``"embedding"`` or ``"vector"``, or "" if all lists are equal. Cells are lists,
    tuples or arrays of numbers, or such lists as text, in JSON or as NumPy prints an array; empty
    cells are missing. Raises InvalidFileError, with the row, if the first is such a list, and
    another is not, or has another length, or if NumPy has shortened it.
    """
    first = next((i for i, cell in enumerate(cells) if not _is_empty(cell)), None)
    if first is None:
        return None
    _check_not_shortened(where, cells[first], first)
    if (vector := _parse_vector(cells[first])) is None:
        return None
    if isinstance(cells[first], str) and any(
        _parse_vector(cell) is None and not _is_shortened(cell)
        for cell in cells
        if not _is_empty(cell)
    ):
        return None  # text that happens to begin like a list
    length = len(vector)
    matrix = parse_vectors(where, cells, length)
    if not length:
        return None
    if np.all(np.ptp(matrix, axis=0) == 0):
        return "", length
    return "embedding" if _is_embedding(matrix) else "vector", length


def _is_embedding(matrix: NDArray[np.float64]) -> bool:
    """Whether rows are long lists of numbers of similar size."""
    largest = max(np.nanmax(np.abs(matrix), initial=0.0), 1e-300)
    sizes = np.sqrt(np.nanmean((matrix / largest) ** 2, axis=0))
    sizes = sizes[sizes > 0]
    is_even = len(sizes) > 0 and sizes.max() <= _MOST_UNEQUAL * np.median(sizes)
    return matrix.shape[1] >= _NUMBERS_OF_EMBEDDING and bool(is_even)


def parse_vectors(where: str, cells: list[Any], length: int) -> NDArray[np.float64]:
    """The cells as rows of a matrix, NaN where they are missing.

    Cells are as in :func:`find_kind_of_lists`; raises InvalidFileError, with the row, for a cell
    that is not a list of numbers, or has another length.
    """
    matrix = np.full((len(cells), length), np.nan)
    for i, cell in enumerate(cells):
        if _is_empty(cell):
            continue
        vector = _parse_vector(cell)
        if vector is None:
            _check_not_shortened(where, cell, i)
            raise InvalidFileError(
                f"{where}, row {i}: {shorten_repr(cell)} is not a list of numbers, as the others "
                "are. Correct the cell, leave it empty, or exclude the column."
            )
        if len(vector) != length:
            raise InvalidFileError(
                f"{where}, row {i}: a list of {pluralize(len(vector), 'number')}, where "
                f"{length} are expected. All lists of a column must be of one length: correct "
                "the cell, leave it empty, or exclude the column."
            )
        matrix[i] = vector
    return matrix


def _is_empty(cell: Any) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return len(cell) == 0 if _is_list(cell) else is_missing(cell)


def _is_list(cell: Any) -> bool:
    return isinstance(cell, (list, tuple)) or (isinstance(cell, np.ndarray) and cell.ndim > 0)


def _printed_parts(cell: Any) -> list[str]:
    """Texts between brackets, separated by white space; empty for other cells."""
    text = cell.strip() if isinstance(cell, str) else ""
    return text[1:-1].split() if text.startswith("[") and text.endswith("]") else []


def _is_shortened(cell: Any) -> bool:
    """Whether NumPy has printed an array with dots for most of its numbers."""
    parts = _printed_parts(cell)
    numbers = [part for part in parts if part != "..."]
    return 0 < len(numbers) < len(parts) and all(map(_NUMBER.fullmatch, numbers))


def _check_not_shortened(where: str, cell: Any, row: int) -> None:
    if _is_shortened(cell):
        raise InvalidFileError(
            f"{where}, row {row}: {shorten_repr(cell)} is an array that NumPy has shortened with "
            "'...': most of its numbers are lost. Write the table again with lists "
            "(array.tolist()), or exclude the column."
        )


def _parse_vector(cell: Any) -> NDArray[np.float64] | None:
    """The numbers of a cell, NaN for those that are missing; None if it is no list of numbers."""
    if isinstance(cell, str):
        if not cell.lstrip().startswith("["):
            return None
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            parts = _printed_parts(cell)
            cell = [*map(float, parts)] if parts and all(map(_NUMBER.fullmatch, parts)) else None
    if not _is_list(cell):
        return None
    numbers = np.asarray(cell, dtype=object)
    if numbers.ndim != 1 or any(isinstance(number, (bool, np.bool_, str)) for number in numbers):
        return None
    try:
        return np.array([np.nan if is_missing(each) else each for each in numbers], np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
