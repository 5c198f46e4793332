"""Error messages of the commands."""

import errno
import sys

import click

from ambilearn import __version__
from ambilearn.datasets.errors import DatasetError

DEBUG = "AMBILEARN_DEBUG"  # if this variable is set, unexpected errors show a traceback

# Errors of the input or the system, not of ambilearn.
EXPECTED = (DatasetError, OSError, ImportError, MemoryError)

_DISK_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}

MIN_ADDRESS_SPACE = 2**30  # bytes; with less, the numerical libraries crash or hang


def check_memory_limit() -> None:
    """Raise an error if the memory limit of the process is too low."""
    if sys.platform == "win32":  # has no such limit
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        raise click.ClickException(
            f"The memory of a process is limited to {limit / 2**20:.0f} MB, and "
            f"{MIN_ADDRESS_SPACE / 2**20:.0f} MB are needed. Raise the limit (`ulimit -v`)."
        )


def describe_error(error: Exception) -> str:
    """The message for an error: what happened and what to do."""
    if isinstance(error, MemoryError):
        return "There is not enough memory. Close other programs, or use fewer --jobs."
    if not isinstance(error, EXPECTED):
        return (
            f"unexpected {type(error).__name__}: {' '.join(str(error).split())}\n"
            f"This is a bug in ambilearn {__version__}. Please report it with your command and "
            f"its output when {DEBUG}=1 is set."
        )
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    where = f"{error.filename}: " if error.filename else ""
    advice = " Free some disk space, or write to another disk." if error.errno in _DISK_FULL else ""
    return f"{where}{error.strerror}.{advice}"
