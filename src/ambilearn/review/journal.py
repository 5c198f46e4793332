"""Journal of a review on disk: one JSON line for each action of a person.

The first line describes the rows of the table. A line is on disk before the answer is confirmed.
Lines are only added. A last line without a line break is the rest of a write that was interrupted
by a power failure or a kill: it is ignored.
"""

import errno
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

import numpy as np

from ambilearn._utils.text import shorten_repr
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.review.from_table import format_cell

if TYPE_CHECKING:
    from ambilearn.tables.candidate_table import CandidateTable

_FORMAT = "ambilearn review journal"
_VERSION = 2
_NAME = re.compile(r"[\w-]{1,64}")
MAX_LABEL = 100_000  # characters
_MAX_ROWS = 10**12  # of a table that is not there
_START = f'{{"format":"{_FORMAT}"'.encode()
_NO_JOURNAL = "is not the journal of a review. Choose another --journal."


class JournalInUseError(OSError):
    """Another process writes this journal."""


class ReviewedRows:
    """The rows of a table as a person sees them: a journal belongs to them.

    Parameters
    ----------
    texts : list of str
        The candidates of each row as the table writes them.
    columns : dict of str to sequence
        The other cells, by column.

    Examples
    --------
    >>> rows = ReviewedRows(["anna|bob", "bob"], {"size": [3, 4]})
    >>> longer = ReviewedRows(["anna|bob", "bob", "cleo"], {"size": [3.0, 4.0, 5.0], "town": "abc"})
    >>> longer.find_change(rows.describe())
    >>> ReviewedRows(["anna|bob", "bob"], {"size": [4, 3]}).find_change(rows.describe())
    "the column 'size' has changed"
    """

    def __init__(self, texts: list[str], columns: Mapping[str, Sequence[Any]]) -> None:
        self.texts, self._columns = texts, columns

    @classmethod
    def of_table(cls, table: "CandidateTable") -> Self:
        """The rows of a table. True labels may be added to it during the review."""
        hidden = {*table.candidate_columns, table.description.truth}
        columns = [column for column in table.frame.columns if column not in hidden]
        return cls(table.texts, {str(column): table.frame[column] for column in columns})

    def describe(self, n_rows: int | None = None) -> dict[str, Any]:
        """Number of rows, and a digest of each column of the first ``n_rows``."""
        n_rows = len(self.texts) if n_rows is None else n_rows
        return {
            "rows": n_rows,
            "candidates": _digest(self.texts[:n_rows]),
            "columns": {name: _digest(cells[:n_rows]) for name, cells in self._columns.items()},
        }

    def find_change(self, known: Mapping[str, Any]) -> str | None:
        """What differs from the rows that :meth:`describe` described; new rows and columns do not.

        Answers are by the number of the row: if rows were sorted, each would be for another row.
        """
        n_rows = known["rows"]
        if n_rows > len(self.texts):
            return f"the table had {n_rows:,} rows and has {len(self.texts):,}"
        now = self.describe(n_rows)
        if now["candidates"] != known["candidates"]:
            return "the candidates have changed"
        for name, digest in known["columns"].items():
            if now["columns"].get(name) != digest:
                what = "has changed" if name in now["columns"] else "is missing"
                return f"the column {name!r} {what}"
        return None


def _digest(cells: Sequence[Any]) -> str:
    """Digest of what a person sees of the cells of a column: 3 and 3.0 are equal."""
    values = np.asarray(cells) if getattr(cells, "dtype", None) is not None else np.empty(0, "O")
    if values.dtype.kind in "biuf":
        content = values.astype(np.float64).tobytes()
    else:
        content = json.dumps([format_cell(cell) for cell in cells]).encode()
    return hashlib.sha256(content).hexdigest()[:20]


class Journal:
    """An open journal; this process is its only writer.

    Before each write, the file is compared with what was written. If another program has removed or
    changed it, all entries are written again: to the same name if that is free, else to a new file
    beside it. ``notice`` then says so.

    Parameters
    ----------
    path : path-like
        The file; it is created if it does not exist.
    rows : ReviewedRows
        The rows of the table. A journal of other rows is rejected.
    check_label : callable, optional
        Raises ValueError for a text that cannot be a label.

    Attributes
    ----------
    path : Path
        The file in which the answers are.
    entries : list of dict
        What the journal contains, without its first line.
    notice : str or None
        What happened to the file, for the user.

    Raises
    ------
    JournalInUseError
        If another process has the journal open.
    InvalidFileError
        If the file is not a journal, is damaged, or belongs to other rows.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        rows: ReviewedRows,
        check_label: Callable[[str], object] = str,
    ) -> None:
        self.path = self._first = Path(path)
        self.notice: str | None = None
        self._check_no_later()
        is_new = not self.path.exists()
        self._file = _open_locked(self.path)
        try:
            content = self._file.read()
            header, self.entries, n_bytes = _read(self.path, content, rows, check_label)
            self._content = bytearray(content[:n_bytes])  # what the file has
            self._file.truncate(n_bytes)  # without an incomplete last line
            self._state = os.fstat(self._file.fileno())
            if header is None:
                self._write({"format": _FORMAT, "version": _VERSION, "about": rows.describe()})
            if is_new:
                _sync_folder(self.path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, entry: dict[str, Any]) -> None:
        """Add an entry; it is on disk when this returns, or not in the journal at all."""
        entry = {"n": len(self.entries) + 1, **entry}
        self.keep()
        self._write(entry)
        self.entries.append(entry)

    def keep(self) -> None:
        """Write the journal again if another program has removed or changed the file."""
        if self._file.closed:  # the server ends
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if self._is_intact():
            return
        path, file = self._create_another()
        try:
            _write_all(file, bytes(self._content))
            _sync_folder(path.parent)
        except BaseException:
            file.close()
            path.unlink(missing_ok=True)
            raise
        self._file.close()
        self._file, self._state = file, os.fstat(file.fileno())
        if path == self.path:
            self.notice = f"{path.name} was removed by another program, and written again."
        else:
            self.notice = (
                f"{self.path.name} was changed by another program. All answers are in {path.name}: "
                f"to continue the review later, pass --journal {path.name}."
            )
            self.path = path

    @property
    def other_name(self) -> str | None:
        """Name of the file that has the answers now, if it is not the one that was opened."""
        return None if self.path == self._first else self.path.name

    def close(self) -> None:
        """Close the file, so that another process may continue."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, content: dict[str, Any]) -> None:
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            self._file.seek(len(self._content))
            _write_all(self._file, line)
            self._content += line
        except OSError:
            self._file.truncate(len(self._content))
            raise
        finally:
            self._state = os.fstat(self._file.fileno())

    def _is_intact(self) -> bool:
        """Whether the file under our name has what was written."""
        try:
            found = os.stat(self.path)
        except OSError:
            return False
        if not os.path.samestat(found, self._state) or found.st_size != len(self._content):
            return False
        if found.st_mtime_ns != self._state.st_mtime_ns:
            self._file.seek(0)
            return self._file.read() == self._content
        return True

    def _create_another(self) -> tuple[Path, BinaryIO]:
        """Open a new file, under our name if that is free; otherwise with the next number."""
        beside = (_numbered(self._first, number) for number in count(2))
        for path in chain([self.path], beside):
            with suppress(FileExistsError):
                return path, _open_locked(path, os.O_EXCL)
        raise AssertionError

    def _check_no_later(self) -> None:
        """Raise an error if another file beside this one has the later answers."""
        found = (_numbered(self._first, number) for number in count(2))
        for later in reversed(list(takewhile(os.path.lexists, found))):
            if is_journal(later):
                raise InvalidFileError(
                    f"{later} has the later answers of this review: it was written when another "
                    f"program had changed {self.path.name}. Pass --journal {later}, or move that "
                    "file away."
                )


def read_answers(
    path: str | os.PathLike[str],
) -> tuple[dict[int, str], dict[int, str], set[int]]:
    """Label and candidates of each settled row of a journal, and the rows that count as random.

    >>> from tempfile import TemporaryDirectory
    >>> entry = {"id": "a", "kind": "answer", "labels": {"1": "anna"}}
    >>> entry |= {"random": False, "found": {"1": "bob"}, "candidates": {"1": "anna|bob"}}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.journal")
    ...     with Journal(path, ReviewedRows(["bob", "anna|bob"], {})) as journal:
    ...         journal.append(entry)
    ...     read_answers(path)
    ({1: 'anna'}, {1: 'anna|bob'}, set())
    """
    path = Path(path)
    header, entries, _ = _read(path, path.read_bytes(), None, str.encode)
    if header is None:
        raise InvalidFileError(f"{path} {_NO_JOURNAL}")
    texts: dict[int, str] = {}
    for entry in entries:
        if entry["kind"] == "answer":
            texts |= {int(row): text for row, text in entry["candidates"].items()}
    known = replay(entries)
    return known.labels, {row: texts[row] for row in known.labels}, known.random


class Replay(NamedTuple):
    """What the entries of a journal amount to.

    Parameters
    ----------
    steps : list of dict
        The answers that were not undone. ``random`` is whether the row still counts as random.
    labels : dict of int to str
        The settled rows.
    skipped : list of int
        Skipped rows, in their order.
    random : set of int
        Settled rows that count as random.
    """

    steps: list[dict[str, Any]]
    labels: dict[int, str]
    skipped: list[int]
    random: set[int]


def replay(entries: Sequence[Mapping[str, Any]]) -> Replay:
    """Answers, labels and skipped rows of a journal."""
    steps: list[dict[str, Any]] = []
    released: set[int] = set()  # random rows that the order had reached: they are reviewed
    skipped: dict[int, None] = {}
    for entry in entries:
        released.update(entry.get("released", ()))
        if entry["kind"] == "answer":
            labels = {int(row): label for row, label in entry["labels"].items()}
            found = {int(row): label for row, label in entry["found"].items()}
            steps.append(dict(entry) | {"labels": labels, "found": found})
            released.difference_update(labels)
        elif entry["kind"] == "undo":
            released.difference_update(steps.pop()["labels"])
        else:
            skipped.pop(entry["row"], None)
            skipped[entry["row"]] = None
    settled: dict[int, str | None] = {}
    for step in steps:
        settled |= step["labels"]
        step["random"] = step["random"] and released.isdisjoint(step["labels"])
    labels = {row: label for row, label in settled.items() if label is not None}
    last = {row: step["random"] for step in steps for row in step["labels"]}
    random = {row for row, is_random in last.items() if is_random and row in labels}
    return Replay(steps, labels, list(skipped), random)


def is_journal(path: Path) -> bool:
    """Whether a file is the journal of a review; a pipe is not, and nothing is read from it."""
    with suppress(OSError):
        if path.is_file():
            with open(path, "rb") as file:
                return file.read(len(_START)) == _START
    return False


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}-{number}")


def is_name(name: Any) -> bool:
    """Whether a value can be the name of an action or a tab."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


# --- reading and checking -----------------------------------------------------------------------


def _read(
    path: Path,
    content: bytes,
    rows: ReviewedRows | None,
    check_label: Callable[[str], object],
) -> tuple[dict[str, Any] | None, list[dict[str, Any]], int]:
    """Header (None if there is none yet), entries, and number of bytes of complete lines."""
    *lines, rest = content.split(b"\n")  # the rest is empty, or incomplete
    if not lines:
        if rest.startswith(_START) or _START.startswith(rest):
            return None, [], 0
        raise InvalidFileError(f"{path} {_NO_JOURNAL}")
    header = _parse_header(path, lines[0])
    if rows is not None and (change := rows.find_change(header["about"])):
        raise InvalidFileError(
            f"{path} belongs to other rows: {change}. Restore the table, choose another --journal, "
            f"or save the answers: ambilearn review {path} --checked-out FILE"
        )
    entries: list[dict[str, Any]] = []
    ids: set[str] = set()
    n_steps = 0
    for i, line in enumerate(lines[1:], start=1):
        try:
            entry = json.loads(line)
            _check_entry(entry, i, None if rows is None else rows.texts, check_label)
            n_steps += {"answer": 1, "undo": -1}.get(entry["kind"], 0)
            if entry["id"] in ids or n_steps < 0:
                raise ValueError("it repeats an answer, or undoes one that does not exist")
        except (ValueError, RecursionError) as error:
            reason = "it cannot be read" if isinstance(error, json.JSONDecodeError) else error
            raise InvalidFileError(
                f"{path}, line {i + 1}: this line of the journal is damaged ({reason}). Restore a "
                "copy, or choose another --journal."
            ) from error
        ids.add(entry["id"])
        entries.append(entry)
    return header, entries, sum(len(line) + 1 for line in lines)


def _parse_header(path: Path, line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise InvalidFileError(f"{path} {_NO_JOURNAL}")
    if header.get("version") != _VERSION:
        raise InvalidFileError(
            f"{path} was written by another version of ambilearn. Use that version, or choose "
            "another --journal."
        )
    about = header.get("about")
    kinds = {"rows": int, "candidates": str, "columns": dict}
    sound = isinstance(about, dict) and all(
        isinstance(about.get(name), kind) for name, kind in kinds.items()
    )
    if not sound:
        raise InvalidFileError(f"{path}, line 1: this line of the journal is damaged.")
    return header


def _check_entry(
    entry: Any, number: int, texts: list[str] | None, check_label: Callable[[str], object]
) -> None:
    """Raise ValueError for an entry that no review has written.

    ``texts`` are the candidates of all rows, if the table is there.
    """
    n_rows = _MAX_ROWS if texts is None else len(texts)
    if not isinstance(entry, dict) or entry.get("n") != number or not is_name(entry.get("id")):
        raise ValueError("its number or name is wrong")
    released = entry.get("released", [])
    if not isinstance(released, list) or not all(_is_row(row, n_rows) for row in released):
        raise ValueError("its random rows are wrong")
    kind = entry.get("kind")
    if kind == "skip" and _is_row(entry.get("row"), n_rows):
        return
    if kind == "undo":
        return
    if kind != "answer" or not isinstance(entry.get("random"), bool):
        raise ValueError("it is not complete, or of another kind")
    labels, found, candidates = (entry.get(name) for name in ("labels", "found", "candidates"))
    if not (isinstance(labels, dict) and isinstance(found, dict) and isinstance(candidates, dict)):
        raise ValueError("it is not complete")
    if not labels or not labels.keys() == found.keys() == candidates.keys():
        raise ValueError("it is not complete")
    for row, label in labels.items():
        if not _is_row_text(row, n_rows):
            raise ValueError(f"there is no row {shorten_repr(row)}")
        if not isinstance(found[row], str) or not isinstance(candidates[row], str):
            raise ValueError("it is not complete")
        if texts is not None and candidates[row] != texts[int(row)]:
            raise ValueError(f"row {row} has other candidates in the table")
        sound = isinstance(label, str) and 0 < len(label) <= MAX_LABEL
        if label is not None and not sound:
            raise ValueError(f"row {row} has no label")
        for text in [found[row]] if label is None else [found[row], label]:
            check_label(text)


def _is_row(value: object, n_rows: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n_rows


def _is_row_text(text: str, n_rows: int) -> bool:
    is_number = text.isascii() and text.isdecimal() and len(text) < 20
    return is_number and str(int(text)) == text and int(text) < n_rows


# --- opening and locking --------------------------------------------------------------------------


def _write_all(file: BinaryIO, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]
    os.fsync(file.fileno())


def _open_locked(path: Path, flags: int = 0) -> BinaryIO:
    flags |= os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    file: BinaryIO = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # reading from a pipe would wait
        file.close()
        raise InvalidFileError(f"{path} {_NO_JOURNAL}")
    try:
        _lock_file(file)
    except OSError as error:
        file.close()
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise JournalInUseError(
                f"{path} is in use by another `ambilearn review`. Continue the review there, or "
                "end it first."
            ) from error
        raise OSError(
            error.errno,
            f"{path} cannot be locked ({error.strerror}): choose another --journal, on a disk of "
            "this machine.",
        ) from error
    return file


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
