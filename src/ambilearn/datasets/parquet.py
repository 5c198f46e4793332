"""Read a Parquet file, bounded in memory, and write one."""

import re
from typing import IO, TYPE_CHECKING, Any

from ambilearn._utils.text import requires_extra
from ambilearn.datasets.errors import InvalidFileError, too_large

if TYPE_CHECKING:
    import pandas as pd

_UNNAMED = re.compile(r"__index_level_\d+__")  # as pandas writes an index without a name
_BATCH_ROWS = 1024  # that are unpacked at once, at most


def read_parquet(file: IO[Any], name: str, *, max_bytes: int) -> "pd.DataFrame":
    """Read a Parquet file; an error as soon as it unpacks to more than ``max_bytes``."""
    with requires_extra("parquet", purpose="Reading Parquet files"):
        import pandas as pd
        from pyarrow import ArrowException, parquet
    try:
        opened = parquet.ParquetFile(file)
        size = _unpacked_size(opened)
        if size > max_bytes:
            raise too_large(name, size, max_bytes)
        index = _index_columns(opened, name)
        table = _read_batches(opened, file, name, index, max_bytes)
        # pandas cannot read its own metadata if a cell is a list.
        frame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
        _check_times_in_range(frame, table.schema, name)
        return _with_named_ranges(frame, index)
    except InvalidFileError:
        raise
    except (ArrowException, OSError, ValueError, TypeError, IndexError, MemoryError) as error:
        raise InvalidFileError(f"{name} is not a valid Parquet file: {error}") from error


def _index_columns(opened: Any, name: str) -> list[Any]:
    """What pandas stored about the index: names of columns, and ranges."""
    try:
        index = [*(opened.schema_arrow.pandas_metadata or {}).get("index_columns", [])]
        for part in index:
            if not isinstance(part, str):
                range(part["start"], part["stop"], part["step"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidFileError(
            f"{name} has invalid metadata of pandas ({error!r}). Write it again without an index."
        ) from error
    return index


def _read_batches(opened: Any, file: IO[Any], name: str, index: list[Any], max_bytes: int) -> Any:
    """The table without an unnamed index of pandas; an error as soon as it is too large.

    Texts stay in dictionaries until their size is known: a small file may repeat a long text.
    """
    from pyarrow import large_string, types

    schema = opened.schema_arrow
    leaves = [opened.schema.column(j) for j in range(opened.metadata.num_columns)]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    try:
        table = _read_bounded(opened, file, texts, _BATCH_ROWS, name, max_bytes)
    except OSError as error:
        if "Not yet implemented" not in str(error):
            raise
        # Arrow cannot read delta-encoded texts into a dictionary. None of them is longer than all
        # changes together.
        n_rows = max(1, min(_BATCH_ROWS, max_bytes // max(1, _unpacked_size(opened))))
        table = _read_bounded(opened, file, [], n_rows, name, max_bytes)
    for i, field in enumerate(schema):
        if types.is_string_view(field.type):  # which Arrow does not make of a dictionary
            schema = schema.set(i, field.with_type(large_string()))
    unnamed = [c for c in schema.names if c in index and _UNNAMED.fullmatch(c)]
    return table.cast(schema).drop_columns(unnamed)


def _read_bounded(
    opened: Any, file: IO[Any], dictionaries: list[str], n_rows: int, name: str, max_bytes: int
) -> Any:
    """The table, with some columns as dictionaries; ``n_rows`` are unpacked at once."""
    from pyarrow import Table
    from pyarrow.parquet import ParquetFile

    packed = ParquetFile(file, metadata=opened.metadata, read_dictionary=dictionaries)
    batches, size = [], 0
    for batch in packed.iter_batches(batch_size=n_rows):
        size += sum(map(_unpacked_bytes, batch.columns))
        if size > max_bytes:
            raise too_large(name, size, max_bytes)
        batches.append(batch)
    return Table.from_batches(batches, packed.schema_arrow)


def _unpacked_bytes(array: Any) -> int:
    """Size of an Arrow array if its texts were not in dictionaries."""
    from pyarrow import compute, types

    kind = array.type
    if types.is_dictionary(kind):
        values = array.dictionary
        if not types.is_primitive(values.type):
            lengths = compute.binary_length(values).take(array.indices)
            return 8 * len(array) + (compute.sum(lengths).as_py() or 0)
    elif types.is_struct(kind):
        return sum(map(_unpacked_bytes, array.flatten()))
    elif types.is_map(kind):
        return 8 * len(array) + _unpacked_bytes(array.keys) + _unpacked_bytes(array.items)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return 8 * len(array) + _unpacked_bytes(array.flatten())
    return int(array.nbytes)


def _with_named_ranges(frame: "pd.DataFrame", index: list[Any]) -> "pd.DataFrame":
    """The table with an index that pandas stores only as a range, if it has a name."""
    for each in index:
        if isinstance(each, dict) and isinstance(name := each.get("name"), str):
            values = range(each["start"], each["stop"], each["step"])
            if name not in frame.columns and len(values) == len(frame):
                frame[name] = list(values)
    return frame


def _check_times_in_range(frame: "pd.DataFrame", schema: Any, name: str) -> None:
    """Reject dates that Parquet supports and Python does not."""
    from pyarrow import types

    for position, field in enumerate(schema):
        if not (types.is_temporal(field.type) or types.is_nested(field.type)):
            continue
        cells = frame.iloc[:, position]
        if not _are_readable(cells):
            row = next(i for i in range(len(cells)) if not _are_readable(cells.iloc[i : i + 1]))
            raise InvalidFileError(
                f"{name}, column {field.name!r}, row {row}: a date or time outside the years 1 "
                "to 9999. Correct it, or write the column as text."
            )


def _are_readable(cells: "pd.Series[Any]") -> bool:
    try:
        cells.to_list()
    except (OverflowError, ValueError):
        return False
    return True


def _unpacked_size(opened: Any) -> int:
    """Size of a Parquet file in memory: at least eight bytes per cell and per list item."""
    metadata = opened.metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    size = sum(
        max(group.total_byte_size, 8 * group.num_rows * group.num_columns) for group in groups
    )
    # Only columns of lists have more values than rows. With a damaged file, Arrow aborts the
    # process if the metadata of a column are read; scanning the column first raises an error.
    lists = [j for j in range(metadata.num_columns) if opened.schema.column(j).max_repetition_level]
    if lists:
        opened.scan_contents([opened.schema.column(j).path for j in lists])
        size += sum(8 * group.column(j).num_values for group in groups for j in lists)
    # A value of fixed length may be long, and repeated by a few bytes.
    wide = [opened.schema.column(j).length for j in range(metadata.num_columns)]
    size += sum(max(0, length) * metadata.num_rows for length in wide)
    return int(size)


def write_parquet(frame: "pd.DataFrame", file: IO[bytes]) -> None:
    """Write a table without its index."""
    with requires_extra("parquet", purpose="Writing Parquet files"):
        from pyarrow import ArrowException, Table, parquet
    try:
        table = Table.from_pandas(frame, preserve_index=False)
        # Arrow stores the types. pandas cannot read the metadata that it would add: "data type
        # 'list<element: string>[pyarrow]' not understood".
        parquet.write_table(table.replace_schema_metadata(), file)
    except (ArrowException, OverflowError) as error:  # the latter by a number of 400 digits
        reason = " ".join(str(part) for part in error.args)
        raise InvalidFileError(f"The table cannot be written as Parquet: {reason}") from error
