"""Files: written completely or not at all, and CSV rows that all readers parse in the same way."""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import BinaryIO, cast
from uuid import uuid4


@contextmanager
def atomic_write(target: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when it is complete.

    The content is written to a temporary file next to ``target``, which is renamed atomically when
    the block ends and deleted if the block fails. Temporary files of killed processes are deleted,
    too. If ``target`` is write-protected or a folder, the error comes before the block.

    An existing file is replaced; mode and, if the system permits, owner are kept. Symbolic links
    are followed and kept. If the target is not a regular file, such as a device or a pipe, the
    content is written to it when the block ends.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "notes.txt")
    ...     with atomic_write(target) as file:
    ...         written = file.write(b"all of it")
    ...         seen_before = target.exists()
    ...     seen_before, target.read_bytes()
    (False, b'all of it')
    """
    final, present = _find(target)
    if present is None or _is_replaceable(present, final):
        with _replace(final, present) as file:
            yield file
    else:
        with _open_in_place(target, present) as sink, NamedTemporaryFile() as complete:
            yield cast(BinaryIO, complete)
            complete.seek(0)
            shutil.copyfileobj(complete, sink)


def check_writable(target: Path) -> None:
    """Raise the OSError that :func:`atomic_write` would raise before its block."""
    final, present = _find(target)
    if present is None or _is_replaceable(present, final):
        _check_not_protected(final, present)
        TemporaryFile(dir=final.parent).close()


def _find(target: Path) -> tuple[Path, os.stat_result | None]:
    """The file that a path leads to, and its state; None if there is no file."""
    final = Path(os.path.realpath(target))
    with suppress(FileNotFoundError):
        return final, os.stat(target)
    return final, None


@contextmanager
def _replace(final: Path, present: os.stat_result | None) -> Iterator[BinaryIO]:
    _check_not_protected(final, present)
    _remove_abandoned_parts(final)
    part = final.with_name(f".{_short(final)}.{uuid4().hex}.part")
    try:
        # Not readable by others until it has the mode of the file that it replaces.
        with _open_part(part, 0o666 if present is None else 0o600) as file:
            if present is not None:
                _copy_owner_and_mode(final, present, part)
            yield file
            file.flush()
            os.fsync(file.fileno())  # write the content to disk before renaming
        os.replace(part, final)
    except BaseException as error:  # including KeyboardInterrupt
        part.unlink(missing_ok=True)
        # Report the target, not the temporary file; errors of a full disk have no file name.
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(part)):
            error.filename = str(final)
            del error.filename2  # it would be printed even if it were None
        raise


def _check_not_protected(final: Path, present: os.stat_result | None) -> None:
    if present is not None:
        os.close(os.open(str(final), os.O_WRONLY))


def _is_replaceable(present: os.stat_result, final: Path) -> bool:
    """Whether a file is a regular file with its own name, not an open standard stream."""
    if not stat.S_ISREG(present.st_mode) or _standard_stream(present) is not None:
        return False
    return final.exists() and os.path.samestat(present, os.stat(final))


def _standard_stream(present: os.stat_result) -> int | None:
    """Descriptor of the standard stream that a file refers to, such as ``/dev/stdout``."""
    for descriptor in (1, 2):
        with suppress(OSError):  # closed
            if present.st_ino and os.path.samestat(present, os.fstat(descriptor)):
                return descriptor
    return None


def _open_in_place(target: Path, present: os.stat_result) -> BinaryIO:
    stream = _standard_stream(present)
    # Duplicate a stream to keep its position: opening it by name would truncate the file.
    return open(target if stream is None else os.dup(stream), "wb")


def _copy_owner_and_mode(final: Path, present: os.stat_result, part: Path) -> None:
    # Only root can change the owner, but users can choose among their groups.
    for owner in (present.st_uid, -1) if sys.platform != "win32" else ():
        with suppress(OSError):
            os.chown(part, owner, present.st_gid)
            break
    with suppress(OSError):  # file system without modes
        shutil.copystat(final, part)  # including access control lists


def _open_part(part: Path, mode: int) -> BinaryIO:
    """Create a file and lock it while it is being written."""
    while True:
        file = open(part, "xb", opener=lambda path, flags: os.open(path, flags, mode))  # noqa: SIM115
        with suppress(OSError):  # not every file system has locks
            _lock(file)
        if part.exists():
            return file
        file.close()  # another process deleted it before it was locked


def _short(final: Path) -> str:
    """Start of a file name, which leaves space for a prefix and a suffix."""
    return final.name[:50]


def _remove_abandoned_parts(final: Path) -> None:
    """Delete temporary files of killed processes, which are not locked."""
    for part in final.parent.glob(f".{escape(_short(final))}.{'[0-9a-f]' * 32}.part"):
        with suppress(OSError):  # locked by another process
            _delete_unlocked(part)


if sys.platform == "win32":  # Windows does not delete open files: no lock needed

    def _lock(file: BinaryIO) -> None:
        pass

    def _delete_unlocked(part: Path) -> None:
        part.unlink()

else:
    from fcntl import LOCK_EX, LOCK_NB, flock

    def _lock(file: BinaryIO) -> None:
        flock(file, LOCK_EX)

    def _delete_unlocked(part: Path) -> None:
        with open(part, "r+b") as file:
            flock(file, LOCK_EX | LOCK_NB)
            part.unlink()


class CsvLines:
    r"""File object for a CSV writer: rows end with a line feed, cells with line breaks are quoted.

    Before Python 3.13, ``csv.writer`` quotes only the line breaks that occur in its line
    terminator, but most readers end a row at a lone carriage return. Pass
    ``lineterminator=CsvLines.terminator``, which contains both characters.

    ``write`` is called with each row, including the line feed.

    >>> import csv
    >>> lines = []
    >>> writer = csv.writer(CsvLines(lines.append), lineterminator=CsvLines.terminator)
    >>> writer.writerows([["two\rlines", 1], ["one", 2]])
    >>> lines
    ['"two\rlines",1\n', 'one,2\n']
    """

    terminator = "\r\n"

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def write(self, row: str) -> None:
        """Write a row."""
        self._write(row.removesuffix(self.terminator) + "\n")
