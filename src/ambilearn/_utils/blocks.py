"""Blocks of rows that limit the memory of an operation."""

from collections.abc import Iterator

LIMIT = 2**22  # numbers in memory at once: 32 MB
IN_CACHE = 2**16  # numbers that stay in the CPU cache between operations


def row_blocks(
    n_rows: int, numbers_per_row: int = 1, *, limit: int | None = None
) -> Iterator[slice]:
    """Slices that cover all rows in order, each with as many rows as the limit allows.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    numbers_per_row : int, default=1
        Numbers in memory at once per row.
    limit : int, optional
        Maximum of numbers in a block, at most :data:`LIMIT`, the default. Every block has at least
        one row.

    Yields
    ------
    rows : slice

    Examples
    --------
    >>> from ambilearn._utils.blocks import row_blocks
    >>> list(row_blocks(5, 10, limit=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    >>> list(row_blocks(5, 10))
    [slice(0, 5, None)]
    """
    numbers = LIMIT if limit is None else min(limit, LIMIT)
    step = max(1, numbers // max(1, numbers_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
