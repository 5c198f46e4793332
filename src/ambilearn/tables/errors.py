"""Errors of model files."""

from ambilearn.datasets.errors import InvalidFileError


class InvalidModelError(InvalidFileError):
    """A file is not a model of this library, or not as it was saved. Nothing was executed."""


class UnsupportedSkopsError(ImportError):
    """The installed skops may write another format than the one that is checked here."""
