"""Journal of a review on disk: one JSON line for each action of a person.

The first line describes the table and the options. A line is on disk before the answer is
confirmed. Lines are only added. The last line may be incomplete after a power failure or a kill; it
is then ignored.
"""

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO, Self

from ambilearn._utils.text import shorten_repr
from ambilearn.datasets.errors import InvalidFileError

_FORMAT = "ambilearn review journal"
_VERSION = 1
_START = f'{{"format":"{_FORMAT}"'.encode()


class JournalInUseError(OSError):
    """Another process writes this journal."""


class Journal:
    """An open journal; this process is its only writer.

    Parameters
    ----------
    path : path-like
        The file; it is created if it does not exist.
    about : dict
        Description of the table and the options, plain values. A journal that was begun with
        another one is rejected.

    Attributes
    ----------
    entries : list of dict
        What the journal contains, without its first line.

    Raises
    ------
    JournalInUseError
        If another process has the journal open.
    InvalidFileError
        If the file is not a journal, is damaged, or belongs to another table or other options.
    """

    def __init__(self, path: str | os.PathLike[str], about: dict[str, Any]) -> None:
        self.path = Path(path)
        is_new = not self.path.exists()
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        self._file: BinaryIO = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            self._lock()
            self.entries, self._size = self._read(about)
            if self._size == 0:
                self._write({"format": _FORMAT, "version": _VERSION, "about": about})
            if is_new:
                _sync_folder(self.path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, entry: dict[str, Any]) -> None:
        """Add an entry; it is on disk when this returns, or not in the journal at all."""
        entry = {"n": len(self.entries) + 1, **entry}
        self._write(entry)
        self.entries.append(entry)

    def close(self) -> None:
        """Close the file, so that another process may continue."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _write(self, content: dict[str, Any]) -> None:
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if self._file.closed:  # the server ends
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            self._file.seek(self._size)
            self._file.truncate()  # an incomplete last line
            view = memoryview(line)
            while view:
                view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self._size)
            raise
        self._size += len(line)

    def _read(self, about: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
        """Entries, and the number of bytes of complete lines."""
        *lines, rest = self._file.read().split(b"\n")  # the rest is empty, or incomplete
        if not lines and not (rest.startswith(_START) or _START.startswith(rest)):
            raise InvalidFileError(self._explain(0))
        contents = []
        for i, line in enumerate(lines):
            content = _parse(line)
            if content is None and i == len(lines) - 1 and i > 0:
                lines.pop()
                break
            if content is None or (i > 0 and content.get("n") != i):
                raise InvalidFileError(self._explain(i))
            contents.append(content)
        if contents:
            self._check_header(contents.pop(0), about)
        return contents, sum(len(line) + 1 for line in lines)

    def _explain(self, line: int) -> str:
        if line == 0:
            return f"{self.path} is not the journal of a review. Choose another --journal."
        return (
            f"{self.path}, line {line + 1}: this line of the journal is damaged. Restore a copy, "
            "or choose another --journal."
        )

    def _check_header(self, header: dict[str, Any], about: dict[str, Any]) -> None:
        if header.get("format") != _FORMAT or not isinstance(header.get("about"), dict):
            raise InvalidFileError(self._explain(0))
        if header.get("version") != _VERSION:
            raise InvalidFileError(
                f"{self.path} was written by another version of ambilearn. Use that version, or "
                "choose another --journal."
            )
        known = header["about"]
        for name in {**about, **known}:
            if known.get(name) != json.loads(json.dumps(about.get(name))):
                raise InvalidFileError(
                    f"{self.path} belongs to another review: {name} was "
                    f"{shorten_repr(known.get(name))} and is {shorten_repr(about.get(name))}. Use "
                    "the same table and options, or choose another --journal."
                )

    def _lock(self) -> None:
        try:
            _lock_file(self._file)
        except OSError as error:
            raise JournalInUseError(
                f"{self.path} is in use by another `ambilearn review --serve`. Continue the "
                "review there, or end it first."
            ) from error


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


if sys.platform == "win32":
    import msvcrt

    def _lock_file(file: BinaryIO) -> None:
        file.seek(2**40)  # not where the content is: a lock prevents reading
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)

    def _sync_folder(folder: Path) -> None:
        pass

else:
    from fcntl import LOCK_EX, LOCK_NB, flock

    def _lock_file(file: BinaryIO) -> None:
        flock(file, LOCK_EX | LOCK_NB)

    def _sync_folder(folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
