"""The results in one SQLite file: written one by one, safe from a kill and from a second runner."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ambilearn.experiments.execute import Result

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
"""

# A result is never replaced by a failure of the same task, which a second runner may report.
_SAVE = """
INSERT INTO results VALUES (
    :key, :data, :method, :run, :select, :status, :seconds, :task, :scores, :details, :error,
    (SELECT id FROM environments WHERE content = :environment),
    strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
ON CONFLICT (key) DO UPDATE SET
    status = excluded.status, seconds = excluded.seconds, scores = excluded.scores,
    details = excluded.details, error = excluded.error, environment = excluded.environment,
    finished = excluded.finished
WHERE excluded.status = 'done' OR results.status = 'failed'
"""

_BUSY_TIMEOUT = 60.0  # seconds to wait for another process that is writing


class StoreError(OSError):
    """A file is no result store, and cannot become one."""


class Store:
    """Results of tasks by key.

    Every result is one transaction of a write-ahead log: a process that is killed at any moment
    leaves all earlier results and no half one, and other processes may read and write meanwhile.

    Parameters
    ----------
    path : path-like
        SQLite file.
    create : bool, default=True
        Whether to make the file where there is none; otherwise that is a FileNotFoundError.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise FileNotFoundError(
                f"There is no result store {self.path}: run `ambilearn reproduce` first, or give "
                "the file with --store."
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # joblib asks for the next task in a thread of its own: the lock keeps it out of a save.
        self._lock = threading.RLock()
        try:
            self._refuse_foreign_tables()
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._use_write_ahead_log()
            self._connection.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self.path} cannot be used as a result store ({error}): give another --store."
            ) from error

    def _refuse_foreign_tables(self) -> None:
        """A database of something else is left as it is: it is not even opened for writing."""
        if not self.path.exists():
            return
        address = f"{self.path.absolute().as_uri()}?mode=ro"
        with (
            closing(sqlite3.connect(":memory:")) as blank,
            closing(sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT)) as present,
        ):
            blank.executescript(_SCHEMA)
            ours, found = _columns(blank), _columns(present)
        foreign = sorted(name for name in found if found[name] != ours.get(name))
        if foreign:
            raise StoreError(
                f"{self.path} is a database of something else (it has the table {foreign[0]!r}), "
                "no result store, and was left as it is: give another --store."
            )

    def _use_write_ahead_log(self) -> None:
        # Switching a new file is the one statement for which SQLite does not wait for others.
        deadline = time.monotonic() + _BUSY_TIMEOUT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def save(self, result: Result, environment: dict[str, Any]) -> None:
        """Write a result, with the environment that it was made in."""
        columns = asdict(result)
        content = json.dumps(environment, sort_keys=True)
        row = {name: columns[name] for name in ("key", "status", "seconds", "error")}
        row |= {name: result.task[name] for name in ("data", "method", "run", "select")}
        row |= {name: json.dumps(columns[name]) for name in ("task", "scores", "details")}
        with self._lock:
            # A writer from the start: a reader turned writer would not wait for another one.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(
                    "INSERT OR IGNORE INTO environments (content) VALUES (?)", [content]
                )
                self._connection.execute(_SAVE, row | {"environment": content})
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def is_done(self, key: str) -> bool:
        """Whether a task has a result that is no failure."""
        query = "SELECT 1 FROM results WHERE key = ? AND status = 'done'"
        with self._lock:
            return self._connection.execute(query, [key]).fetchone() is not None

    def results(self, keys: Iterable[str] | None = None) -> dict[str, Result]:
        """Results by key: of some tasks, or all."""
        wanted = None if keys is None else set(keys)
        query = "SELECT key, task, status, scores, details, error, seconds FROM results"
        found = {}
        with closing(self._connection.execute(query)) as rows:
            for key, task, status, scores, details, error, seconds in rows:
                if wanted is None or key in wanted:
                    plain = (json.loads(task), status, json.loads(scores), json.loads(details))
                    found[key] = Result(key, *plain, error, seconds)
        return found

    def environments(self) -> list[tuple[dict[str, Any], int]]:
        """Environments in which results were made, and how many in each; the latest first."""
        query = """SELECT content, count(*) FROM results JOIN environments ON environment = id
                   GROUP BY id ORDER BY max(finished) DESC, id DESC"""
        return [(json.loads(text), count) for text, count in self._connection.execute(query)]

    def mean_seconds(self) -> dict[tuple[str, str, str], tuple[float, int]]:
        """Mean time and number of results of every (data, method, select)."""
        query = """SELECT data, method, "select", avg(seconds), count(*) FROM results
                   WHERE status = 'done' GROUP BY data, method, "select" """
        return {tuple(row[:3]): (row[3], row[4]) for row in self._connection.execute(query)}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Columns of every table of a database."""
    query = """SELECT t.name, c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"""
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(query):
        found.setdefault(table, set()).add(column)
    return found
