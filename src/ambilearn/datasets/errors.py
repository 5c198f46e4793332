"""Errors of the data layer, one class for each cause.

Each class inherits from the matching built-in error (``FileNotFoundError``, …), so that
callers need not import this module. Every message says what is wrong and what to do.
"""


class DatasetError(Exception):
    """Base class of errors in finding, fetching or reading data."""


class UnknownDatasetError(DatasetError, ValueError):
    """There is no data set of that name."""


class DataNotFoundError(DatasetError, FileNotFoundError):
    """A file is not on this machine and was not found at its source."""


class ChecksumError(DatasetError, ValueError):
    """A file is not the one that the registry describes."""


class NetworkError(DatasetError, ConnectionError):
    """The source could not be reached, or the connection broke."""


class InvalidFileError(DatasetError, ValueError):
    """A file does not have the expected content. Nothing in it was executed."""


def too_large(name: str, size: int, max_bytes: int) -> InvalidFileError:
    """The error of a file that needs more memory than allowed."""
    return InvalidFileError(
        f"{name} needs {size} bytes in memory, more than max_bytes={max_bytes} allows: raise "
        "max_bytes if you trust the file."
    )
