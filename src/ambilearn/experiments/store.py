"""Result store in one SQLite file, safe for killed processes and concurrent runners."""

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from ambilearn.experiments.seeds import digest
from ambilearn.experiments.store_file import StoreError, describe_error, open_store_file
from ambilearn.experiments.task import Result

_READ = """
SELECT key, status, seconds, task, scores, details, error, content, finished, digest
FROM results LEFT JOIN environments ON environment = id LEFT JOIN digests USING (key)
"""

# A result is never replaced by a failure of the same task in another runner.
_SAVE = """
INSERT INTO results VALUES (
    :key, :data, :method, :run, :select, :status, :seconds, :task, :scores, :details, :error,
    (SELECT id FROM environments WHERE content = :content), :finished)
ON CONFLICT (key) DO UPDATE SET
    data = excluded.data, method = excluded.method, run = excluded.run,
    "select" = excluded."select", status = excluded.status, seconds = excluded.seconds,
    task = excluded.task, scores = excluded.scores, details = excluded.details,
    error = excluded.error, environment = excluded.environment, finished = excluded.finished
WHERE excluded.status = 'done' OR results.status = 'failed'
"""


class _Row(NamedTuple):
    """A row of a stored result."""

    key: str
    status: str
    seconds: float
    task: str
    scores: str
    details: str
    error: str
    content: str
    finished: str
    digest: str | None = None

    def compute_digest(self) -> str:
        return digest(list(self._replace(digest=None))).hex()

    def parse(self) -> Result | None:
        """The result; None if the row is damaged."""
        try:
            task, scores, details = map(json.loads, (self.task, self.scores, self.details))
            # Earlier versions wrote no digests; their key is the digest of the task.
            written = digest(task).hex() if self.digest is None else self.digest
            found = self.key if self.digest is None else self.compute_digest()
        except (ValueError, TypeError):  # not JSON, or not text
            return None
        if written != found:
            return None
        return Result(self.key, task, self.status, scores, details, self.error, self.seconds)


class Store:
    """Results of tasks by key, in an SQLite file.

    Every result is one transaction of a write-ahead log: if a process is killed, all earlier
    results are complete, and other processes can read and write at the same time. Damaged results
    are treated as missing. Without ``create``, a missing file raises FileNotFoundError, and a
    read-only file can be opened. Every method raises StoreError if the file cannot be read or
    written.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise FileNotFoundError(
                f"There is no result store {self.path}: run `ambilearn reproduce` first, or pass "
                "the file with --store."
            )
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        # joblib gets the next task in another thread, which must not interfere with a save.
        self._lock = threading.RLock()
        with self._guarded():
            self._connection = open_store_file(self.path, read_only=not create)
        # Damaged text can be read; its digest reveals the damage.
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Lock the connection, and convert SQLite errors to errors with advice."""
        with self._lock:
            try:
                yield
            except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: a damaged schema
                raise StoreError(f"{self.path} {describe_error(error)}") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Connection whose changes are committed when the block ends, or rolled back."""
        with self._guarded():
            # Lock for writing immediately: a later upgrade would not wait for another writer.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # False if a full disk ended the transaction
                    self._connection.execute("ROLLBACK")
                raise

    def save(self, result: Result, environment: dict[str, Any]) -> None:
        """Save a result with its environment, and delete the claim of its task."""
        row = _Row(
            key=result.key,
            status=result.status,
            seconds=result.seconds,
            task=json.dumps(result.task),
            scores=json.dumps(result.scores),
            details=json.dumps(result.details),
            error=result.error.encode("utf-8", "replace").decode(),  # lone surrogates in paths
            content=json.dumps(environment, sort_keys=True),
            finished=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        values = row._replace(digest=row.compute_digest())._asdict()
        values |= {name: result.task[name] for name in ("data", "method", "run", "select")}
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO environments (content) VALUES (:content)", values
            )
            if connection.execute(_SAVE, values).rowcount:
                connection.execute("INSERT OR REPLACE INTO digests VALUES (:key, :digest)", values)
            connection.execute("DELETE FROM claims WHERE key = :key", values)

    def _rows(self, key: str | None = None) -> Iterator[tuple[_Row, Result | None]]:
        """All rows, or the row of one key, each with its result; None if the row is damaged."""
        query, values = (_READ, []) if key is None else (f"{_READ} WHERE key = ?", [key])
        with self._guarded():
            found = self._connection.execute(query, values).fetchall()
        return ((row, row.parse()) for row in map(_Row._make, found))

    def results(self, keys: Iterable[str] | None = None) -> dict[str, Result]:
        """Results by key, of the given tasks or all."""
        found = {row.key: result for row, result in self._rows() if result is not None}
        return found if keys is None else {key: found[key] for key in keys if key in found}

    def result(self, key: str) -> Result | None:
        """Result of one task; None if there is none."""
        return next((result for _, result in self._rows(key)), None)

    def n_damaged(self) -> int:
        """Number of damaged results."""
        return sum(result is None for _, result in self._rows())

    def versions(self, key: str | None = None) -> dict[str, tuple[str, float]]:
        """Time stamps by key, of all results or one, which identify a result among its versions."""
        return {row.key: (row.finished, row.seconds) for row, result in self._rows(key) if result}

    def environments(self) -> list[tuple[dict[str, Any], int]]:
        """Environments of the results, latest first, with the number of results."""
        sound = sorted((row.finished, row.content) for row, result in self._rows() if result)
        latest = dict.fromkeys(content for _, content in reversed(sound))
        counts = Counter(content for _, content in sound)
        return [(json.loads(content), counts[content]) for content in latest]

    def mean_seconds(self) -> dict[tuple[str, str, str], tuple[float, int]]:
        """Mean time and number of results of every (data, method, select)."""
        times: dict[tuple[str, str, str], list[float]] = {}
        for result in self.results().values():
            if result.status == "done":
                kind = (result.task["data"], result.task["method"], result.task["select"])
                times.setdefault(kind, []).append(result.seconds)
        return {kind: (fmean(seconds), len(seconds)) for kind, seconds in times.items()}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
