"""Errors of the data layer: one class per thing that can go wrong.

Each is also the built-in error that a caller would expect (``FileNotFoundError``, …), so that
general code need not know this module. Every message says what was wrong and what to do.
"""


class DatasetError(Exception):
    """Base of everything that can go wrong while finding, fetching or reading data."""


class UnknownDatasetError(DatasetError, ValueError):
    """There is no data set of that name."""


class DataNotFoundError(DatasetError, FileNotFoundError):
    """A file is neither on this machine nor, if that was tried, at its source."""


class ChecksumError(DatasetError, ValueError):
    """A file is not the one that the registry describes."""


class NetworkError(DatasetError, ConnectionError):
    """The source could not be reached, or the connection broke."""


class DiskFullError(DatasetError, OSError):
    """There is no room for a download."""


class FolderNotWritableError(DatasetError, PermissionError):
    """A download has no place to go."""


class InvalidFileError(DatasetError, ValueError):
    """A file holds something else than what was expected. It was refused, not executed."""
