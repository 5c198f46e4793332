"""Read and write records as JSON: one object per line, or a list of objects."""

import json
from collections import Counter
from collections.abc import Iterable
from io import TextIOWrapper
from typing import IO, Any

import numpy as np

from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import DataFrame
from ambilearn.datasets.errors import InvalidFileError


def read_json(file: IO[Any], name: str, *, encoding: str, is_list: bool) -> DataFrame:
    """Read a list of objects, or an object per line, one for each row.

    ``encoding`` is that of a binary file.
    """
    import pandas as pd

    decoder = None if isinstance(file.read(0), str) else TextIOWrapper(file, encoding, newline="\n")
    text = decoder or file
    try:
        records = _parse_list(text.read(), name) if is_list else _parse_lines(text, name)
    except UnicodeDecodeError as error:
        from ambilearn.datasets.advice import not_text

        raise not_text(file, name, encoding, error) from error
    finally:
        if decoder is not None:
            decoder.detach()  # otherwise it closes the file
    return pd.DataFrame(records, dtype=object)


def _parse_lines(lines: Iterable[str], name: str) -> list[Any]:
    records = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        record = _parse_json(where := f"{name}, line {number}", line)
        if not isinstance(record, dict):
            raise InvalidFileError(
                f"{where}: expected an object {{…}}, found {type(record).__name__}. Each line must "
                "be one row."
            )
        records.append(record)
    return records


def _parse_list(text: str, name: str) -> list[Any]:
    records = _parse_json(name, text)
    if not isinstance(records, list) or not all(isinstance(each, dict) for each in records):
        raise InvalidFileError(
            f"{name}: expected a list of objects, one for each row: [{{…}}, {{…}}]. A file with "
            "one object per line is JSON lines: .jsonl."
        )
    return records


def _parse_json(where: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct_keys)
    except _RepeatedKeyError as error:
        raise InvalidFileError(
            f"{where}: the key {shorten_repr(error.args[0])} occurs more than once. Rename or "
            "remove one of them."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{where}: not JSON ({error}).") from error


class _RepeatedKeyError(Exception):
    """An object in JSON has a key twice."""


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _RepeatedKeyError(next(k for k, n in Counter(k for k, _ in pairs).items() if n > 1))
    return record


def write_json(frame: DataFrame, file: IO[bytes], *, is_list: bool) -> None:
    """Write a list of objects, or one object per line."""
    start, between, end = (b"[", b",", b"]\n") if is_list else (b"", b"", b"")
    file.write(start)
    for i, record in enumerate(frame.to_dict("records")):
        # Half a character is written as JSON names it; nothing else cannot be encoded.
        line = _json_line(record, i).encode(errors="backslashreplace") + b"\n"
        file.write(between + line if i else line)
    file.write(end)


def _json_line(record: dict[str, Any], row: int) -> str:
    try:
        return json.dumps(_without_nan(record), ensure_ascii=False, allow_nan=False, default=str)
    except ValueError as error:
        raise InvalidFileError(
            f"Row {row} of the table cannot be written as JSON, which has no infinite numbers. "
            "Choose CSV or Parquet."
        ) from error


def _without_nan(value: Any) -> Any:
    """A row, or a value in it, without NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, np.ndarray)):
        return [_without_nan(item) for item in value]
    return None if is_missing(value) else value
