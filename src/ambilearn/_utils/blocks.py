"""Blocks of rows that limit the memory of an operation."""

from collections.abc import Iterator

LIMIT = 2**22  # numbers in memory at once: 32 MB
IN_CACHE = 2**16  # numbers that stay in the CPU cache between operations
ON_DEVICE = 2**27  # numbers held at once on a device, where each call has overhead: 1 GB


def row_blocks(
    n_rows: int, numbers_per_row: int = 1, *, limit: int | None = None
) -> Iterator[slice]:
    """Slices that cover all rows in order, each with as many rows as the limit allows.

    ``numbers_per_row`` is how many numbers are in memory at once per row. ``limit`` is the maximum
    of numbers in a block, at most :data:`LIMIT`, the default. Every block has at least one row.

    >>> list(row_blocks(5, 10, limit=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    >>> list(row_blocks(5, 10))
    [slice(0, 5, None)]
    """
    numbers = LIMIT if limit is None else min(limit, LIMIT)
    step = max(1, numbers // max(1, numbers_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def device_blocks(n_rows: int, numbers_per_row: int = 1) -> Iterator[slice]:
    """Slices that cover all rows in order; work on one row holds ``numbers_per_row`` numbers."""
    step = max(1, ON_DEVICE // max(1, numbers_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
