"""Files that are there in full or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def atomic_write(target: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only once it is complete.

    The content goes to a temporary file next to ``target``, which takes its name in one step when
    the block ends, and is deleted when the block fails.

    Parameters
    ----------
    target : Path
        The file to write; one of that name is replaced.

    Yields
    ------
    file : binary file object

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from ambilearn._utils.files import atomic_write
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "notes.txt")
    ...     with atomic_write(target) as file:
    ...         written = file.write(b"all of it")
    ...         seen_before = target.exists()
    ...     seen_before, target.read_bytes()
    (False, b'all of it')
    """
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, target)
    except BaseException:  # also when the user interrupts
        temporary.unlink(missing_ok=True)
        raise
