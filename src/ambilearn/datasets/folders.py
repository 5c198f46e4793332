"""Where data files live on this machine."""

import os
from pathlib import Path

DATA_VARIABLE = "AMBILEARN_DATA"


def user_cache() -> Path:
    """Folder of this user for downloads, as the operating system has it."""
    import pooch  # imported here: most users of the library never download anything

    return Path(pooch.os_cache("ambilearn"))


def search_folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders in which a data file is looked for; a download goes to the first.

    In this order: ``data_home``, the environment variable ``AMBILEARN_DATA``, the user's cache.
    """
    chosen = [data_home, os.environ.get(DATA_VARIABLE)]
    return [Path(folder).expanduser() for folder in chosen if folder] + [user_cache()]
