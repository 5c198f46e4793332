"""Where data files live on this machine, and how one gets there in one piece."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

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


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only once it is complete.

    The content goes to a temporary file next to ``target``, which takes its name in one step when
    the block ends, and is deleted when the block fails.
    """
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, target)
    except BaseException:  # also when the user interrupts
        temporary.unlink(missing_ok=True)
        raise
