"""Folders for data files."""

import os
from contextlib import suppress
from pathlib import Path

from ambilearn._utils.optional import requires_extra

DATA_VARIABLE = "AMBILEARN_DATA"


def user_cache() -> Path:
    """The user's cache folder for downloads."""
    with requires_extra("data", purpose="The cache of downloads"):
        import pooch

    return Path(pooch.os_cache("ambilearn"))


def search_folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders in which a data file is looked for; a download goes to the first.

    In this order: ``data_home``, the environment variable ``AMBILEARN_DATA``, the user's cache.
    Without pooch, which provides the cache, only the first two are searched.
    """
    chosen = [data_home, os.environ.get(DATA_VARIABLE)]
    folders = [Path(folder).expanduser() for folder in chosen if folder]
    with suppress(ImportError):
        folders.append(user_cache())
    return folders
