"""Limits of an operation: blocks of rows for its memory, and the number of BLAS threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

LIMIT = 2**22  # numbers in memory at once: 32 MB
IN_CACHE = 2**16  # numbers that stay in the CPU cache between operations


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


_MIN_OPERATIONS = 4e9  # operations from which threads pay off: about 0.1 s on one core

# The number is that of the process, so threads that fit at the same time share one limit: the
# first context sets it, and the last one restores the number.
_lock = Lock()
_limit: Any = None
_n_contexts = 0


@contextmanager
def threads_for(operations: float) -> Iterator[None]:
    """Context in which BLAS uses one thread if the operation is short.

    BLAS threads wait for each other, and for the next call, in busy loops. Between short calls this
    slows down everything else: a fit of MSRCv2 takes twice as long with two threads as with one.

    ``operations`` is the number of additions and multiplications in the context.
    """
    if operations >= _MIN_OPERATIONS:
        yield
        return
    global _limit, _n_contexts
    with _lock:
        if not _n_contexts:
            _limit = _controller().limit(limits=1, user_api="blas")
            release_control()
        _n_contexts += 1
    try:
        yield
    finally:
        with _lock:
            _n_contexts -= 1
            if not _n_contexts:
                _limit.restore_original_limits()
                release_control()


def release_control() -> None:
    """Let any thread set the number of BLAS threads, not only the thread that set it last.

    threadpoolctl 3.8 ignores other threads until then.
    """
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # inspects the loaded libraries, which is slow
