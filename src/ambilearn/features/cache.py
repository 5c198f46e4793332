"""A cache of vectors on disk: one SQLite file, which several processes can write."""

import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.warnings import warn_user

FILE_NAME = "embeddings.sqlite"
MAX_BYTES = 2 * 2**30  # more than a million vectors of 384 numbers
_BUSY_SECONDS = 60.0  # how long to wait for another process that writes
_KEYS_PER_QUERY = 500  # SQLite limits the number of parameters
# The statements are always the same, so that a "logic error" is a damaged description of the table.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, "
    "checksum INTEGER NOT NULL, vector BLOB NOT NULL)"
)

Result = TypeVar("Result")
Vectors = dict[bytes, NDArray[np.float32]]


class VectorCache:
    """Vectors of float32 under keys of bytes, in a file of a folder.

    If the file cannot be used (a full disk, a folder that is not writable), a warning says so and
    nothing more is stored. A damaged file is replaced by an empty one. Every write is a
    transaction, so that a killed process leaves whole vectors or none, and each vector has a
    checksum that is compared when it is read.

    Parameters
    ----------
    folder : Path
        Folder of the file; made if it does not exist.
    max_bytes : int
        Size of the file; beyond it the vectors that were stored first are removed.
    """

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self.path = folder / FILE_NAME
        self.max_bytes = max_bytes
        self._is_usable = True

    def get(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors that are stored, bit for bit."""

        def select(connection: sqlite3.Connection) -> Vectors:
            found, damaged = {}, []
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                some = keys[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, checksum, vector FROM vectors WHERE key IN ({marks})"
                for key, checksum, vector in connection.execute(query, some):
                    if _checksum(key, vector) == checksum:
                        found[key] = np.frombuffer(vector, dtype="<f4")
                    else:
                        damaged.append((key,))
            if damaged:
                connection.executemany("DELETE FROM vectors WHERE key = ?", damaged)
            return found

        return self._run(select) or {}

    def put(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Store vectors; one that is stored already is not changed."""
        content = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        rows = [(key, _checksum(key, vector), vector) for key, vector in content]

        def insert(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR IGNORE INTO vectors (key, checksum, vector) VALUES (?, ?, ?)", rows
            )
            while _used_bytes(connection) > self.max_bytes:
                connection.execute(
                    "DELETE FROM vectors WHERE number IN (SELECT number FROM vectors "
                    "ORDER BY number LIMIT (SELECT count(*) / 4 + 1 FROM vectors))"
                )

        self._run(insert)

    def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """The result of a transaction; None if the file cannot be used."""
        if not self._is_usable:
            return None
        try:
            try:
                return self._transact(work)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in _DAMAGE:  # the lower byte is the kind
                    raise
                # Another file must not be repaired from the journal of this one.
                Path(f"{self.path}-journal").unlink(missing_ok=True)
                self.path.unlink(missing_ok=True)
                return self._transact(work)
        except (OSError, sqlite3.Error) as error:
            self._is_usable = False
            warn_user(
                f"The cache of embeddings, {self.path}, cannot be used: {error}. The work goes on "
                "without it. Choose another folder with cache, or cache=None."
            )
            return None

    def _transact(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection, connection:
            connection.execute(_TABLE)
            return work(connection)


def _checksum(key: bytes, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(key))


def _used_bytes(connection: sqlite3.Connection) -> int:
    """Size of the file without the pages that SQLite will use again."""
    names = ("page_count", "freelist_count", "page_size")
    total, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return int((total - free) * size)
