"""Results of tasks in one SQLite file; a result survives if the process is killed."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ambilearn._utils.plain_content import check_content
from ambilearn.experiments.task import SCORES, Content, Result, digest

_FORM = {  # of a result
    "key": str,
    "task": {"*": object},
    "status": str,
    "scores": {"*": float},
    "details": {
        "warnings?": [str],
        "objective?": [float],
        "tried?": [{"params": {"*": object}, "scores": {"*": float}}],
        "*": object,
    },
    "error": str,
    "seconds": float,
}
_ENVIRONMENT_FORM = {
    "python": str,
    "versions": {"*": str},
    "commit": (type(None), str),
    "host": str,
    "machine": str,
}
_DAMAGED = ValueError, TypeError, KeyError, AttributeError, RecursionError  # what reading raises
_COLUMNS = {"key", "status", "result", "environment", "finished"}

# The version is written each time, which fails at once if the file cannot be written.
_SCHEMA = """
BEGIN IMMEDIATE;
PRAGMA user_version = 1;
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    result TEXT NOT NULL, environment TEXT NOT NULL, finished TEXT NOT NULL
);
COMMIT;
"""

# A result is never replaced by a failure of the same task.
_SAVE = """
INSERT OR REPLACE INTO results SELECT :key, :status, :result, :environment, :finished
WHERE :status = 'done' OR NOT EXISTS (
    SELECT 1 FROM results WHERE key = :key AND status = 'done')
"""

_BUSY_TIMEOUT = 60.0  # seconds to wait for another process that writes

_NO_SPACE = "Check free disk space and file size limits."
_NO_ACCESS = (
    "Make the file and its folder writable, or copy it to another folder and pass the copy to "
    "--store."
)
_ADVICE = {  # by the primary error codes of SQLite
    sqlite3.SQLITE_CORRUPT: "Restore a copy, or move the file away and run again; `sqlite3 OLD "
    ".recover | sqlite3 NEW` recovers readable data.",
    sqlite3.SQLITE_FULL: _NO_SPACE,
    sqlite3.SQLITE_IOERR: _NO_SPACE,
    sqlite3.SQLITE_READONLY: _NO_ACCESS,
    sqlite3.SQLITE_CANTOPEN: _NO_ACCESS,
}


class StoreError(OSError):
    """A file is not a result store, is damaged, or cannot be read or written."""


class Store:
    """Results of tasks by key, in an SQLite file.

    Every result is one transaction: if the process is killed, all earlier results are complete.
    Other processes can read at the same time. A damaged result counts as missing.
    Without ``create``, a missing file raises FileNotFoundError, and a read-only file can be opened.
    Every method raises StoreError if the file cannot be read or written.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise FileNotFoundError(
                f"There is no result store {self.path}: run `ambilearn paper run` first, or pass "
                "the file with --store."
            )
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        address = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        with self._advise(), ExitStack() as stack:
            self._connection = stack.enter_context(
                closing(sqlite3.connect(address, _BUSY_TIMEOUT, isolation_level=None, uri=True))
            )
            self._check_and_create(create)
            stack.pop_all()

    def _check_and_create(self, create: bool) -> None:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        tables = {name for (name,) in self._connection.execute(query)}
        columns = {name for _, name, *_ in self._connection.execute("PRAGMA table_info(results)")}
        if tables and not columns >= _COLUMNS:
            raise StoreError(
                f"{self.path} is another database (it has the table {min(tables)!r}) or a store of "
                "an earlier version, and was not changed. Pass another --store."
            )
        ((found, *_),) = self._connection.execute("PRAGMA integrity_check(1)")
        if found != "ok":
            raise self._error(found, sqlite3.SQLITE_CORRUPT)
        if create:
            self._connection.executescript(_SCHEMA)

    @contextmanager
    def _advise(self) -> Iterator[None]:
        """Convert errors of SQLite to errors with advice."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: a damaged name
            # The higher bits of the code have the details.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            raise self._error(str(error), code) from error

    def _error(self, text: str, code: int) -> StoreError:
        fault = "is damaged" if code == sqlite3.SQLITE_CORRUPT else "cannot be used"
        advice = _ADVICE.get(code, "Pass another --store.")
        return StoreError(f"{self.path} {fault} ({' '.join(text.split())}). {advice}")

    @contextmanager
    def only_writer(self) -> Iterator[None]:
        """Reject other runs on this store, also of other processes, until the block ends.

        The lock is SQLite's, on a second file; the system releases it if the process is killed.
        """
        lock_file = f"{os.path.realpath(self.path)}-lock"
        with self._advise(), closing(sqlite3.connect(lock_file, 0, isolation_level=None)) as lock:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
                raise StoreError(
                    f"Another run writes to {self.path}: wait until it has ended, or pass another "
                    "--store."
                ) from error
            yield

    def save(self, result: Result, environment: Mapping[str, object]) -> None:
        """Save a result with its environment."""
        values = {
            "key": result.key,
            "status": result.status,
            "result": json.dumps(asdict(result)),
            "environment": json.dumps(environment, sort_keys=True),
            "finished": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        with self._advise():
            self._connection.execute(_SAVE, values)

    def _rows(self, query: str) -> list[tuple[str, ...]]:
        with self._advise():
            return self._connection.execute(query).fetchall()

    def results(self, keys: Iterable[str] | None = None) -> dict[str, Result]:
        """Results by key, of the given tasks or all."""
        found = {}
        for key, status, text in self._rows("SELECT key, status, result FROM results"):
            with suppress(*_DAMAGED):
                content = json.loads(text)
                check_content(content, _FORM)
                result = Result(**content)
                if (result.key, result.status) != (key, status):
                    continue
                if digest(result.task).hex() == key and (status == "failed" or _has_scores(result)):
                    found[key] = result
        return found if keys is None else {key: found[key] for key in keys if key in found}

    def environments(self) -> list[tuple[Content, int]]:
        """Environments of the results, latest first, with the number of results."""
        rows = self._rows(
            "SELECT environment, count(*) FROM results GROUP BY environment "
            "ORDER BY max(finished) DESC"
        )
        found = []
        for content, count in rows:
            with suppress(*_DAMAGED):
                environment = json.loads(content)
                check_content(environment, _ENVIRONMENT_FORM)
                found.append((environment, int(count)))
        return found

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_scores(result: Result) -> bool:
    """Whether a result, and each point of an oracle, has every score."""
    points = [result.scores, *(point["scores"] for point in result.details.get("tried", ()))]
    return all(np.isfinite([point[name] for name in SCORES]).all() for point in points)
