"""The SQLite file of a result store: schema, connection and error messages."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

# For claims, see ambilearn.experiments.claims.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS environments (id INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY,
    data TEXT NOT NULL, method TEXT NOT NULL, run INTEGER NOT NULL, "select" TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    seconds REAL NOT NULL,
    task TEXT NOT NULL, scores TEXT NOT NULL, details TEXT NOT NULL, error TEXT NOT NULL,
    environment INTEGER NOT NULL REFERENCES environments, finished TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS digests (key TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, runner TEXT NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
"""

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_PROTECTED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_BUSY_TIMEOUT = 60.0  # seconds to wait for another writing process

# A row of sqlite_master: type, name, table, and its SQL statement.
_Item = tuple[str, str, str, str]


class StoreError(OSError):
    """A file is not a result store, is damaged, or cannot be read or written."""


def open_store_file(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Connect to a store, check its schema, and create missing tables.

    A missing file is created. ``read_only`` opens a file that cannot be written for reading. Raises
    StoreError if the database has an unexpected table, column, index, trigger or view, and the file
    is not changed; sqlite3.Error for all other errors, see :func:`describe_error`.
    """
    try:
        if path.exists():  # check the schema before opening for writing
            _connect(path, "mode=ro").close()
        return _open_for_writing(path)
    except sqlite3.OperationalError as error:
        if not read_only or _code(error) not in _PROTECTED:
            raise
    return _open_for_reading(path)


def _open_for_writing(path: Path) -> sqlite3.Connection:
    connection = _connect(path, "mode=rwc")
    try:
        _use_write_ahead_log(connection)
        connection.executescript(_SCHEMA)
        _check_integrity(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_for_reading(path: Path) -> sqlite3.Connection:
    """Connect to a file that cannot be written, or in a folder that cannot be written."""
    log = Path(f"{os.path.realpath(path)}-wal")
    # With a log, SQLite needs a lock file in the same folder. A log with results must be read.
    complete = not log.exists() or log.stat().st_size == 0
    connection = _connect(path, "mode=ro&immutable=1" if complete else "mode=ro")
    try:
        present = {name for _, name, *_ in _read_schema(connection)}
        for _, name, _, statement in _expected_schema():
            if statement and name not in present:  # a store of an earlier version
                connection.execute(statement.replace("CREATE", "CREATE TEMP", 1))
        _check_integrity(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=_BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _check_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if the schema is not that of a store; a trigger, for instance, can delete results."""
    expected, found = _expected_schema(), _read_schema(connection)
    unexpected = sorted(found - expected)
    if not unexpected:
        return
    kind, name, *_ = unexpected[0]
    if found & expected:
        fault = f"has the {kind} {name!r}, which is not part of a result store"
        advice = "Drop it if you trust the rest, or pass another --store."
        if name in {item[1] for item in expected}:
            fault = f"has a {kind} {name!r} that differs from that of a result store"
            advice = "Pass another --store."
        raise StoreError(f"{path} {fault}, and was not changed. {advice}")
    raise StoreError(
        f"{path} is another database (it has the {kind} {name!r}), not a result store, and was "
        "not changed: pass another --store."
    )


def _expected_schema() -> set[_Item]:
    with closing(sqlite3.connect(":memory:")) as blank:
        blank.executescript(_SCHEMA)
        return _read_schema(blank)


def _read_schema(connection: sqlite3.Connection) -> set[_Item]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {(kind, name, table, " ".join((sql or "").split())) for kind, name, table, sql in rows}


def _check_integrity(connection: sqlite3.Connection) -> None:
    ((found, *_),) = connection.execute("PRAGMA integrity_check(1)")
    if found != "ok":
        error = sqlite3.DatabaseError(" ".join(found.split()))
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # SQLite does not wait for other processes when the journal mode of a new file is set.
    deadline = time.monotonic() + _BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) not in _LOCKED or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def describe_error(error: sqlite3.Error | UnicodeDecodeError) -> str:
    """Message for an error of SQLite: the problem, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        code, what = sqlite3.SQLITE_CORRUPT, "malformed database schema"
    else:
        code, what = _code(error), str(error)
    if code == sqlite3.SQLITE_CORRUPT:
        return (
            f"is damaged ({what}), and was not changed. Restore a copy, or move the file away and "
            "run again; `sqlite3 OLD .recover | sqlite3 NEW` recovers readable data."
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return f"cannot be read or written ({what}): check free disk space and file size limits."
    if code in _LOCKED:
        return (
            f"is locked by another program for more than {_BUSY_TIMEOUT:.0f} seconds ({what}): end "
            "that program, or pass another --store."
        )
    if code in _PROTECTED:
        return (
            f"cannot be opened or written ({what}): make the file and its folder writable, or copy "
            "it, with its -wal file if it has one, to another folder and pass the copy to --store."
        )
    return f"cannot be used as a result store ({what}): pass another --store."


def _code(error: sqlite3.Error) -> int:
    """Primary error code; the higher bits have the details."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
