"""Blocks of rows, so that what is held at once stays small whatever the size of the data."""

from collections.abc import Iterator

LIMIT = 2**22  # numbers held at once: 32 MB
IN_CACHE = 2**16  # numbers that the processor's cache keeps from one operation to the next


def row_blocks(
    n_rows: int, numbers_per_row: int = 1, *, limit: int | None = None
) -> Iterator[slice]:
    """Slices that cover all rows in order, each with as many rows as the limit allows.

    Parameters
    ----------
    n_rows : int
        Rows in all.
    numbers_per_row : int, default=1
        Numbers that the work on one row holds at once.
    limit : int, optional
        Numbers that a block may hold, :data:`LIMIT` if that is less or nothing is given. Every
        block has at least one row.

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
