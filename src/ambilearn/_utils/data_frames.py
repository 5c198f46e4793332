"""Names of the columns of data frames."""

from typing import Any


def column_names(table: Any) -> list[Any] | None:
    """Names of the columns of a table of pandas, polars or pyarrow; None if it has no names."""
    # The columns of a pyarrow table are arrays. The class is checked, because a table of pandas has
    # its columns as attributes, and one of them may have this name.
    is_pyarrow = hasattr(type(table), "column_names")
    names = getattr(table, "column_names" if is_pyarrow else "columns", None)
    return None if names is None else list(names)
