"""Names of the columns of data frames."""

from typing import Any


def column_names(table: Any) -> list[Any] | None:
    """Names of the columns of a table of pandas, polars or pyarrow; None if it has no names."""
    # The columns of a pyarrow table are arrays.
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return None if names is None else list(names)
