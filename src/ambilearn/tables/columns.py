"""Find the kind of each feature column, and parse its cells as numbers, categories or text.

The kinds are *number*, *truth value*, *date*, *vector* (a list of numbers), *embedding* (a long
list of numbers of similar size), *text* (sentences, mostly different), *category* (any other text)
and, only if the user names the column, *image* (a file), *embedded text* and *embedded image* (for
a pretrained network). Numbers, truth values (0 and 1),
dates (days since 1970) and the numbers of a vector become floating point, with NaN where a cell is
missing; categories, texts and the names of files stay text. What scikit-learn then makes of them is
:mod:`ambilearn.tables.preprocessing`.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import (
    MISSING_WORDS,
    normalize_label,
    report_lone_surrogates,
    shorten_list,
    shorten_repr,
)
from ambilearn._utils.types import Array, DataFrame
from ambilearn._utils.warnings import warn_user
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_TRUTH_VALUES = {"true": 1.0, "false": 0.0}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# With a decimal comma, 1.234 is more than a thousand, or a number that has a decimal point.
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
# 3,14 or 1.003,14 or 1,003.14: a comma as decimal sign, or between thousands.
_COMMA_NUMBER = re.compile(r"[-+]?\d[\d.]*(,\d{3})*,\d[\d.]*")
# What else is a number, with a decimal point and with a decimal comma; and what to do about it.
_OTHER_NUMBER = {
    ".": _COMMA_NUMBER,
    ",": re.compile(f"{_THOUSANDS.pattern}|{_COMMA_NUMBER.pattern}"),
}
_DECIMAL_ADVICE = {
    ".": "For a decimal comma use decimal=',' (--decimal ','); between thousands take it out.",
    ",": "Write nothing between thousands; for a decimal point leave out decimal (--decimal).",
}
# The methods take squares and products of features, which must not overflow.
_LARGEST_NUMBER = 1e75
# Columns of text with more different values than this are checked further.
_MANY_VALUES = 20
# Such a column is free text if more than this share of its cells differ, and they have so many
# words on average, of which such a share occurs in other cells, but not in nearly all of them.
_DIFFERENT_TEXTS = 0.5
_WORDS_OF_TEXT = 3
_INFORMATIVE_WORDS = 0.25
_EVERYWHERE = 0.9
# With fewer values words rarely recur, so the cells themselves must meet stricter limits.
_DIFFERENT_FEW_TEXTS = 0.9
_WORDS_OF_FEW_TEXTS = 4
_PATH = re.compile(r"\S+://\S+|(.*[\\/])?[^\\/]*\.\w{1,5}")  # of a file, or an address
WORD = r"\b\w{2,40}\b"  # longer texts are not words, and would make a model large
EMBEDDED = ("embedded text", "embedded image")  # kinds of columns for a pretrained network
LISTS = ("vector", "embedding")  # kinds of lists of numbers
_IS_EMPTY, _IS_CONSTANT = "is empty", "has the same value everywhere"
# Reasons for which a column is also hidden on the review page.
TELLS_NOTHING = (_IS_EMPTY, _IS_CONSTANT)


class Column(NamedTuple):
    """Name, kind and number of values per cell of a feature column.

    The number is 1 unless the kind is ``"vector"`` or ``"embedding"``. ``model`` is the name of the
    pretrained network for a column of the kind ``"embedded text"`` or ``"embedded image"``.
    """

    name: str
    kind: str
    length: int = 1
    model: str = ""

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns that it becomes: its own, or one for each number of a vector."""
        if self.kind not in LISTS:
            return [self.name]
        return [f"{self.name}[{j}]" for j in range(self.length)]


class Features(NamedTuple):
    """The feature columns of a table, and why others were left out.

    Attributes
    ----------
    columns : tuple of Column
        What is used.
    left_out : dict of str to str
        Name of each other column, and the reason.
    """

    columns: tuple[Column, ...]
    left_out: dict[str, str]


def find_features(
    name: str,
    frame: DataFrame,
    names: Sequence[str],
    *,
    categorical: Sequence[str] = (),
    keep_all: bool = False,
    decimal: str = ".",
    embed: Mapping[str, str] | None = None,
    allow_none: bool = False,
) -> Features:
    """Find the kind of each column, and leave out those that cannot help.

    Left out are columns that are empty, that have the same value everywhere, that count the rows,
    and columns of text in which most values differ, unless they are sentences (an id, a path). With
    ``keep_all``, because the user named the columns, row numbers and such texts are kept. Columns
    in ``categorical`` are categories even if all their cells are numbers, such as codes. ``name``
    is the name of the table in messages, and ``decimal`` the decimal sign of numbers in text.
    ``embed`` has the names of pretrained networks for columns of texts or of image files. With
    ``allow_none`` there may be no features.

    Raises InvalidFileError if a column has values other than numbers, text, dates and lists of
    numbers, if its name ends in a NUL character, or if no column is left. Warns if columns that are
    read as text look like numbers with another decimal sign.
    """
    columns, left_out = [], {}
    odd_numbers: dict[str, tuple[int, Any]] = {}
    for column in names:
        cells = frame[column].to_list()
        where = f"{name}, column {column!r}"
        if embed and column in embed:
            columns.append(Column(column, _embedded_kind(column, cells), model=embed[column]))
            continue
        if str(column).endswith("\0"):  # NumPy would drop it, and the column would not be found
            raise InvalidFileError(
                f"{where}: its name ends in a NUL character, as damaged files have them. Rename "
                "the column, or leave it out of the features."
            )
        if column not in categorical and _may_be_lists(cells):
            from ambilearn.tables.vectors import find_kind_of_lists

            if found := find_kind_of_lists(where, cells):
                if found[0]:
                    columns.append(Column(column, *found))
                else:
                    left_out[column] = _IS_CONSTANT
                continue
        kind, values = _find_kind(name, column, cells, column in categorical, decimal)
        if kind == "category" and column not in categorical:
            row = _find_odd_number(cells, decimal)
            if row is not None:
                odd_numbers[column] = row, cells[row]
        if kind == "category" and column not in categorical and _is_free_text(values):
            kind = "text"
        reason = _reason_to_leave_out(values, kind, keep_all or column in categorical)
        if reason == _IS_CONSTANT and kind == "number" and _are_long_ids(cells, values):
            reason = "has numbers with too many digits, such as ids"
        if reason:
            left_out[column] = reason
        else:
            columns.append(Column(column, kind))
    if odd_numbers:
        warn_user(_describe_odd_numbers(name, odd_numbers, decimal))
    if not columns and not allow_none:
        if left_out and len(frame) == 1:
            raise InvalidFileError(
                f"{name} has only one row, and a method needs at least two to learn from. Add rows."
            )
        raise InvalidFileError(_describe_no_features(name, frame, left_out))
    counts = Counter(each for column in columns for each in column.feature_names)
    if twice := next((each for each, count in counts.items() if count > 1), None):
        vector = twice.rpartition("[")[0]
        raise InvalidFileError(
            f"{name}, column {twice!r}: a number of the list in column {vector!r} has the same "
            "name. Rename the column, or exclude one of them."
        )
    return Features(tuple(columns), left_out)


def _may_be_lists(cells: list[Any]) -> bool:
    """Whether the first cell that is not empty is a list or the text of one."""
    first = next((cell for cell in cells if not (isinstance(cell, str) and not cell.strip())), "")
    if isinstance(first, str):
        return first.lstrip().startswith("[")
    return not isinstance(first, (int, float)) or first != first  # NaN, and then perhaps lists


def _embedded_kind(column: str, cells: list[Any]) -> str:
    """Whether a column for a pretrained network has names of image files, or texts."""
    from ambilearn.tables.image_files import find_image_column

    texts = ["" if is_missing(cell) else str(cell) for cell in cells]
    return "embedded image" if find_image_column({column: texts}) else "embedded text"


def _describe_no_features(name: str, frame: DataFrame, left_out: dict[str, str]) -> str:
    from ambilearn.tables.image_files import find_image_column

    message = (
        f"{name}: no column is left as a feature. Features are all columns but those of "
        "candidates, truth and exclude. (`ambilearn clean` needs none if several annotators "
        "answered.)"
    )
    if left_out:
        reasons = [f"{column!r} {reason}" for column, reason in left_out.items()]
        message += f" Left out: {shorten_list(reasons, 5)}."
    image = find_image_column({c: [str(cell) for cell in frame[c].to_list()] for c in left_out})
    if image is not None:
        message += (
            f" To learn from the images in {image!r}, name a pretrained network (--embed "
            f"{image}=MODEL), or use image={image!r} (--image {image}) and the method deepplcl."
        )
    return message


def parse_features(
    name: str,
    frame: DataFrame,
    columns: Sequence[Column],
    decimal: str = ".",
    image_folders: Sequence[Path] = (),
) -> DataFrame:
    """The feature columns of a table as floating-point numbers, categories and texts.

    Each feature is a column: float64 with NaN, or object with text and NaN. A vector is a column
    for each number, such as ``embedding[0]``; a missing text is empty; an image is the
    absolute path of its file, which may be in the folder of the table or in one of
    ``image_folders``. Raises InvalidFileError, with column and row, if a column is missing, or a
    cell is not of the column's kind.
    """
    import pandas as pd

    check_columns(name, frame, [column.name for column in columns])
    content: dict[str, Array] = {}
    for column, kind, length, _ in columns:
        cells = frame[column].to_list()
        if kind in ("image", "embedded image"):
            from ambilearn.tables.image_files import find_image_files

            where, folders = f"{name}, column {column!r}", (Path(name).parent, *image_folders)
            content[column] = np.array(find_image_files(where, cells, folders), dtype=object)
            continue
        if kind in LISTS:
            from ambilearn.tables.vectors import parse_vectors

            matrix = parse_vectors(f"{name}, column {column!r}", cells, length)
            for j, values in enumerate(matrix.T):
                _check_size(f"{name}, column {column!r}", values.tolist(), values)
                content[f"{column}[{j}]"] = values
            continue
        parsed = _parse_column("text" if kind == "embedded text" else kind, cells, decimal)
        if parsed is None:
            i = _find_unparsable(kind, cells, decimal)
            odd = kind == "number" and _find_odd_number([cells[i]], decimal) is not None
            raise InvalidFileError(
                f"{name}, column {column!r}, row {i}: {shorten_repr(cells[i])} is not a {kind}. "
                f"{_DECIMAL_ADVICE[decimal] if odd else 'Correct the cell, or leave it empty.'}"
            )
        is_text = kind in ("category", "text", "embedded text")
        values = np.array(parsed, dtype=object if is_text else np.float64)
        if not is_text:
            _check_size(f"{name}, column {column!r}", cells, values)
        content[column] = values
    try:
        return pd.DataFrame(content, columns=pd.Index(content, dtype=object))
    except UnicodeEncodeError:  # pandas may store texts as UTF-8
        for name_of_column, values in content.items():
            for i, cell in enumerate(values.tolist()):
                with report_lone_surrogates(f"{name}, column {name_of_column!r}, row {i}"):
                    str(cell).encode()
        raise


def _check_size(where: str, cells: list[Any], values: NDArray[np.float64]) -> None:
    large = np.flatnonzero(np.abs(values) > _LARGEST_NUMBER)
    if not len(large):
        return
    i = int(large[0])
    if np.isinf(values[i]):
        raise InvalidFileError(
            f"{where}, row {i}: {shorten_repr(cells[i])} is not a finite number. Leave the "
            "cell empty if the value is unknown."
        )
    raise InvalidFileError(
        f"{where}, row {i}: {shorten_repr(cells[i])} is too large: its square exceeds the range of "
        "floating-point numbers. Correct the cell, leave it empty, or write the column in a larger "
        "unit."
    )


def _find_odd_number(cells: list[Any], decimal: str) -> int | None:
    """The first row with a number in another form, if all cells are numbers in some form."""
    first = None
    for i, cell in enumerate(cells):
        if _parse_column("number", [cell], decimal) is None:
            if not isinstance(cell, str) or not _OTHER_NUMBER[decimal].fullmatch(cell.strip()):
                return None
            first = i if first is None else first
    return first


def _describe_odd_numbers(name: str, found: dict[str, tuple[int, Any]], decimal: str) -> str:
    columns = f"column{'' if len(found) == 1 else 's'} {shorten_list([*map(repr, found)], 3)}"
    row, cell = next(iter(found.values()))
    sign = "commas" if decimal == "." else "points"
    return (
        f"{name}, {columns}: numbers with {sign}, such as {shorten_repr(cell)} in row {row}, are "
        f"read as text. {_DECIMAL_ADVICE[decimal]} For codes use categorical (--categorical)."
    )


def _find_kind(
    name: str, column: str, cells: list[Any], categorical: bool, decimal: str
) -> tuple[str, list[Any]]:
    """The first kind that fits all cells, and the parsed cells."""
    for kind in ["category"] if categorical else _PARSERS:
        values = _parse_column(kind, cells, decimal)
        if values is not None:
            return kind, values
    i = _find_unparsable("category", cells, decimal)
    raise InvalidFileError(
        f"{name}, column {column!r}, row {i}: {shorten_repr(cells[i])} is a "
        f"{type(cells[i]).__name__}. Features are numbers, text, dates and lists of numbers: "
        "exclude the column."
    )


def _parse_column(kind: str, cells: list[Any], decimal: str = ".") -> list[Any] | None:
    """The cells as one kind, NaN where they are missing; None if some cell is of another."""
    # Most columns hold only numbers, for which float alone is much faster.
    parser = _parse_text if kind == "text" else _PARSERS[kind]
    parsers = (float, parser) if _is_plain(kind, cells) else (parser,)
    if kind == "number" and decimal == ",":
        parsers = (_parse_comma_number,)
    for parse in parsers:
        with suppress(ValueError, TypeError, OverflowError):
            return list(map(parse, cells))
    return None


def _is_plain(kind: str, cells: list[Any]) -> bool:
    """Whether ``float`` reads the same numbers as :func:`_parse_number`, or raises."""
    types = set(map(type, cells))
    return kind == "number" and (
        types <= {int, float} or (types == {str} and "_" not in "".join(cells))
    )


def _find_unparsable(kind: str, cells: list[Any], decimal: str) -> int:
    """The first row whose cell is not of the kind."""
    return next(i for i, cell in enumerate(cells) if _parse_column(kind, [cell], decimal) is None)


def _reason_to_leave_out(parsed: list[Any], kind: str, keep_all: bool) -> str | None:
    values = [value for value in parsed if value == value]
    different = len(set(values))
    if not different:
        return _IS_EMPTY
    if different == 1 and (kind != "category" or len(values) == len(parsed)):
        return _IS_CONSTANT
    if keep_all or different <= _MANY_VALUES:
        return None
    if kind == "category" and different > _DIFFERENT_TEXTS * len(values):
        return f"is text with {different} different values in {len(values)} rows"
    if kind == "number" and len(values) == len(parsed) and np.all(np.diff(values) == 1):
        return "counts the rows"
    return None


def _are_long_ids(cells: list[Any], values: list[float]) -> bool:
    """Whether different whole numbers are equal in floating point."""
    return max(map(abs, values)) > 2**53 and len({str(cell).strip() for cell in cells}) > 1


def _is_free_text(parsed: list[Any]) -> bool:
    """Whether cells are sentences: mostly different, of several words that occur in others, too.

    An id, a name and a path are none: they have few words, or words of their own, or the same
    words everywhere. A few texts may have words of their own.
    """
    values = [value for value in parsed if value == value]
    different = len(set(values))
    few = different <= _MANY_VALUES
    least_different = _DIFFERENT_FEW_TEXTS if few else _DIFFERENT_TEXTS
    least_words = _WORDS_OF_FEW_TEXTS if few else _WORDS_OF_TEXT
    if different < 2 or different <= least_different * len(values):
        return False
    if sum(_PATH.fullmatch(value) is not None for value in values) > len(values) / 2:
        return False
    if sum(len(value.split()) for value in values) < least_words * len(values):
        return False
    counts = Counter(word for value in values for word in set(re.findall(WORD, value.lower())))
    if few:
        return bool(counts)
    informative = sum(count for count in counts.values() if 1 < count < _EVERYWHERE * len(values))
    return informative >= _INFORMATIVE_WORDS * counts.total() > 0


def _parse_number(cell: Any) -> float:
    if isinstance(cell, str):
        cell = cell.strip()
        if not cell or cell in MISSING_WORDS:
            return np.nan
        if "_" in cell:  # Python would read 1_000 as a number
            raise ValueError
        return float(cell)
    if is_missing(cell):
        return np.nan
    if isinstance(cell, bool) or not isinstance(cell, (int, float, Decimal)):
        raise TypeError
    try:
        return float(cell)
    except OverflowError:  # a whole number of hundreds of digits, as text would be read
        return math.inf if cell > 0 else -math.inf


def _parse_comma_number(cell: Any) -> float:
    """A number with a decimal comma, or with a point if that cannot separate thousands."""
    if isinstance(cell, str):
        if _THOUSANDS.fullmatch(cell.strip()):
            raise ValueError
        if "." not in cell:
            cell = cell.replace(",", ".", 1)
    return _parse_number(cell)


def _parse_truth_value(cell: Any) -> float:
    if isinstance(cell, str):
        cell = _TRUTH_VALUES.get(cell.strip().lower(), cell)
    value = float(cell) if isinstance(cell, bool) else _parse_number(cell)
    if value not in (0, 1) and value == value:
        raise ValueError
    return value


def _parse_date(cell: Any) -> float:
    if isinstance(cell, str):
        text = cell.strip()
        if not text or text in MISSING_WORDS:
            return np.nan
        if not _ISO_DATE.fullmatch(text):
            raise ValueError
        cell = datetime.fromisoformat(text)
    if is_missing(cell):
        return np.nan
    if not isinstance(cell, date):
        raise TypeError
    if not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    since: timedelta = cell.replace(tzinfo=cell.tzinfo or UTC) - _EPOCH
    return since.total_seconds() / 86400


def _parse_category(cell: Any) -> Any:
    if isinstance(cell, str):
        return normalize_label(cell) or np.nan
    if is_missing(cell):
        return np.nan
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)  # 1.0 where a missing cell made floats of integers
    if not isinstance(cell, (bool, int, float)):
        raise TypeError
    return str(cell)


def _parse_text(cell: Any) -> str:
    text = _parse_category(cell)
    return text if isinstance(text, str) else ""


# In the order in which they are tried; a category takes whatever is text.
_PARSERS: dict[str, Callable[[Any], Any]] = {
    "number": _parse_number,
    "truth value": _parse_truth_value,
    "date": _parse_date,
    "category": _parse_category,
}
