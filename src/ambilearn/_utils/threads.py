"""Number of BLAS threads: several for long operations, one for short ones."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

_MIN_OPERATIONS = 4e9  # operations from which threads pay off: about 0.1 s on one core


def threads_for(operations: float) -> AbstractContextManager[object]:
    """Context in which BLAS uses one thread if the operation is short.

    BLAS threads wait for each other, and for the next call, in busy loops. Between short calls this
    slows down everything else: a fit of MSRCv2 takes twice as long with two threads as with one.

    ``operations`` is the number of additions and multiplications in the context.
    """
    if operations >= _MIN_OPERATIONS:
        return nullcontext()
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # inspects the loaded libraries, which is slow
