"""Imports of packages that not every user has: they come with an extra of this library."""

from collections.abc import Iterator
from contextlib import contextmanager


def install_command(extra: str) -> str:
    """What a user types to get an extra."""
    return f"pip install 'ambilearn[{extra}]'"


@contextmanager
def requires_extra(extra: str, *, purpose: str) -> Iterator[None]:
    """A context for imports: what is not installed is reported by the extra that brings it.

    A package that is installed but broken reports itself.

    Parameters
    ----------
    extra : str
        The extra, as ``pyproject.toml`` names it.
    purpose : str
        What the packages are for: the subject of the sentence "… needs pandas".

    Raises
    ------
    ImportError
        If a package is not installed. The message, one line, says what to install.

    Examples
    --------
    >>> with requires_extra("data", purpose="Reading tables"):
    ...     import pandas as pd
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        if package == "ambilearn":  # a mistake of ours, which nothing that one installs would mend
            raise
        raise ImportError(
            f"{purpose} needs {package}: {install_command(extra)}", name=error.name
        ) from error
