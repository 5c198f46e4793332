"""The SQLite file of a result store: its schema, how it is opened, and what its errors mean."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

# Claims are what a runner is at work on; see ambilearn.experiments.claims.
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
_BUSY_TIMEOUT = 60.0  # seconds to wait for another process that is writing

# A row of sqlite_master: type, name, table, and the statement that made it.
_Item = tuple[str, str, str, str]


class StoreError(OSError):
    """A file is no result store and cannot become one, or it is damaged, full or out of reach."""


def open_store_file(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Connect to a store; its schema is checked, and its tables are made where they are missing.

    Parameters
    ----------
    path : Path
        The file, which is made if it is missing.
    read_only : bool
        Whether a file that cannot be written is opened all the same. Nothing is written to it.

    Returns
    -------
    sqlite3.Connection

    Raises
    ------
    StoreError
        If the database has a table, column, index, trigger or view that no store has. The file is
        not changed.
    sqlite3.Error
        For all else; see :func:`describe_error`.
    """
    try:
        if path.exists():  # what is no store is not even opened for writing
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
        _refuse_damage(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_for_reading(path: Path) -> sqlite3.Connection:
    """Connect to a file that cannot be written, or whose folder cannot."""
    log = Path(f"{os.path.realpath(path)}-wal")
    # With a log, SQLite needs a file for locks beside it; a log is not ignored if it has results.
    complete = not log.exists() or log.stat().st_size == 0
    connection = _connect(path, "mode=ro&immutable=1" if complete else "mode=ro")
    try:
        present = {name for _, name, *_ in _read_schema(connection)}
        for _, name, _, statement in _expected_schema():
            if statement and name not in present:  # of a store of an earlier version
                connection.execute(statement.replace("CREATE", "CREATE TEMP", 1))
        _refuse_damage(connection)
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
    """Refuse a database that has anything else than a store has: a trigger can delete results."""
    expected, found = _expected_schema(), _read_schema(connection)
    foreign = sorted(found - expected)
    if not foreign:
        return
    kind, name, *_ = foreign[0]
    if found & expected:
        fault = f"has the {kind} {name!r}, which no result store has"
        advice = "Drop it if you trust the rest, or give another --store."
        if name in {item[1] for item in expected}:
            fault = f"has the {kind} {name!r} in another form than a result store"
            advice = "Give another --store."
        raise StoreError(f"{path} {fault}, and was left as it is. {advice}")
    raise StoreError(
        f"{path} is a database of something else (it has the {kind} {name!r}), no result store, "
        "and was left as it is: give another --store."
    )


def _expected_schema() -> set[_Item]:
    with closing(sqlite3.connect(":memory:")) as blank:
        blank.executescript(_SCHEMA)
        return _read_schema(blank)


def _read_schema(connection: sqlite3.Connection) -> set[_Item]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {(kind, name, table, " ".join((sql or "").split())) for kind, name, table, sql in rows}


def _refuse_damage(connection: sqlite3.Connection) -> None:
    ((found, *_),) = connection.execute("PRAGMA integrity_check(1)")
    if found != "ok":
        error = sqlite3.DatabaseError(" ".join(found.split()))
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # Switching a new file is the one statement for which SQLite does not wait for others.
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
    """What is wrong with a file that SQLite cannot use, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        code, what = sqlite3.SQLITE_CORRUPT, "malformed database schema"
    else:
        code, what = _code(error), str(error)
    if code == sqlite3.SQLITE_CORRUPT:
        return (
            f"is damaged ({what}), and was left as it is. Use a copy of it, or move it "
            "away and measure anew; `sqlite3 OLD .recover | sqlite3 NEW` saves what can be read."
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return f"cannot be read or written ({what}): is the disk full, or a limit of file sizes?"
    if code in _LOCKED:
        return (
            f"is locked by another program for more than {_BUSY_TIMEOUT:.0f} seconds ({what}): end "
            "that program, or give another --store."
        )
    if code in _PROTECTED:
        return (
            f"cannot be opened or written ({what}): make the file and its folder writable, or copy "
            "it, with its -wal file if it has one, to another folder and give the copy by --store."
        )
    return f"cannot be used as a result store ({what}): give another --store."


def _code(error: sqlite3.Error) -> int:
    """The kind of an error, without its details, which are in the higher bits."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
