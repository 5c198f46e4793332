"""Blocks of rows, so that what is held at once stays small whatever the size of the data."""

from collections.abc import Iterator
from typing import Any

from array_api_compat import is_numpy_array
from scipy.sparse import issparse

LIMIT = 2**22  # numbers held at once: 32 MB
IN_CACHE = 2**16  # numbers that the processor's cache keeps from one operation to the next
ON_DEVICE = 2**27  # numbers held at once on a device, where every call has its price: 1 GB


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


def array_blocks(X: Any, numbers_per_row: int = 1) -> Iterator[slice]:
    """The same for the rows of an array: large blocks on a device, small ones on the processor.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, …)
        The rows.
    numbers_per_row : int, default=1
        Numbers that the work on one row holds at once.

    Yields
    ------
    rows : slice
    """
    if is_numpy_array(X) or issparse(X):
        yield from row_blocks(X.shape[0], numbers_per_row)
        return
    step = max(1, ON_DEVICE // max(1, numbers_per_row))
    for start in range(0, X.shape[0], step):
        yield slice(start, min(start + step, X.shape[0]))
