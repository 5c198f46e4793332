"""Threads of the linear algebra where they pay, one where they only get in each other's way."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

_MIN_OPERATIONS = 4e9  # that are worth threads: about a tenth of a second on one core


def threads_for(operations: float) -> AbstractContextManager[object]:
    """A context in which BLAS has one thread, if it has fewer than this many operations to do.

    Threads of BLAS wait for each other, and for their next call, by turning in circles. Between
    short calls that slows down everything else: a fit of MSRCv2 takes twice as long with two
    threads as with one.

    Parameters
    ----------
    operations : float
        Additions and multiplications of the call to come.

    Returns
    -------
    context manager
    """
    if operations >= _MIN_OPERATIONS:
        return nullcontext()
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks for the libraries that are loaded, which takes a while
