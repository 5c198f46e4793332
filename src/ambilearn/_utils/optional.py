"""Imports of optional packages, which are installed with an extra of this library."""

from collections.abc import Iterator
from contextlib import contextmanager


def install_command(extra: str) -> str:
    """Command that installs an extra."""
    return f"pip install 'ambilearn[{extra}]'"


@contextmanager
def requires_extra(extra: str, *, purpose: str) -> Iterator[None]:
    """Context for imports; if a package is not installed, the error names the extra.

    Errors of a package that is installed but broken are not changed.

    ``purpose`` is the subject of the sentence "… needs pandas". The message is one line with the
    install command.

    >>> with requires_extra("data", purpose="Reading tables"):
    ...     import pandas as pd
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        if package == "ambilearn":  # a bug in this library, not a missing package
            raise
        raise ImportError(
            f"{purpose} needs {package}: {install_command(extra)}", name=error.name
        ) from error
