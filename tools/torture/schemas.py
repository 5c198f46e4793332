"""Stores with additional database objects, and claims that are never released."""

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from ambilearn.experiments import claims
from torture.commands import run_command
from torture.kills import N_RESULTS
from torture.oracle import Defect
from torture.samples import SPEC, store_bytes
from torture.target import Target

_TABLES = ("results", "environments", "digests", "claims")
_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"

_triggers = st.builds(
    "CREATE TRIGGER t {} {} ON {} BEGIN {}; END".format,
    st.sampled_from(["BEFORE", "AFTER"]),
    st.sampled_from(["INSERT", "UPDATE", "DELETE"]),
    st.sampled_from(_TABLES),
    st.sampled_from(
        ["DELETE FROM results", "UPDATE results SET scores = '{}'", "SELECT RAISE(IGNORE)",
         "DELETE FROM digests", "SELECT RAISE(ABORT, 'no')"]
    ),
)  # fmt: skip
_views = st.builds(
    lambda table, columns: f"DROP TABLE {table}; CREATE VIEW {table} AS {_ENDLESS.format(columns)}",
    st.sampled_from(_TABLES),
    st.sampled_from(["x", "x AS key, x AS digest", "x AS id, x AS content", "x AS key"]),
)
_others = st.sampled_from(
    [
        "CREATE VIEW v AS SELECT * FROM results",
        "CREATE TABLE other (a)",
        "CREATE UNIQUE INDEX i ON results (key, data)",
        "CREATE INDEX i ON results (json(scores))",
        "ALTER TABLE results ADD COLUMN more",
        "ALTER TABLE results ADD COLUMN more AS (randomblob(9))",
        "ALTER TABLE claims RENAME COLUMN runner TO walker",
        "DROP TABLE claims; CREATE TABLE claims (key, runner, expires)",
        "DROP TABLE digests; CREATE TABLE digests (key TEXT, digest TEXT CHECK (digest = ''))",
    ]
)
schema_cases = st.fixed_dictionaries(
    {
        "script": _triggers | _views | _others,
        "missing": st.integers(0, 2),
        "command": st.sampled_from(["reproduce", "tables", "verify"]),
    }
)


def check_crafted_schema(case: dict[str, Any], folder: Path) -> bool:
    """A database with additional objects is rejected and not changed."""
    spec, store = folder / "mine.toml", folder / "store.sqlite"
    spec.write_text(SPEC)
    store.write_bytes(store_bytes())
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(
            "DELETE FROM results WHERE key IN (SELECT key FROM results LIMIT ?)", [case["missing"]]
        )
        known = _schema(connection)
        with suppress(sqlite3.Error):  # not supported by this version of SQLite
            connection.executescript(case["script"])
        crafted = not _schema(connection) <= known
        connection.execute("PRAGMA journal_mode = DELETE")
    before = store.read_bytes()
    options = ["--jobs", 1] if case["command"] == "reproduce" else []
    ended = run_command(case["command"], spec, "--store", store, *options)
    if not crafted:
        return ended.done
    if ended.done:
        raise Defect("wrong", f"a store with additional objects is used: {case['script']}", "used")
    if store.read_bytes() != before:
        raise Defect("destroyed", "a store that was rejected has changed", "changed")
    return False


def _schema(connection: sqlite3.Connection) -> set[Any]:
    return set(connection.execute("SELECT type, name, sql FROM sqlite_master"))


claim_cases = st.fixed_dictionaries(
    {
        "runner": st.sampled_from(["elsewhere 17 x", "elsewhere 1 x y", "", "localhost 1 x"]),
        "ahead": st.sampled_from([1.0, 100.0, 1e9, 1e18, 1e300]),
        "claimed": st.integers(1, N_RESULTS),
    }
)


def check_future_claims(case: dict[str, Any], folder: Path) -> bool:
    """Claims that are not renewed expire after a lease."""
    spec, store = folder / "mine.toml", folder / "store.sqlite"
    spec.write_text(SPEC)
    store.write_bytes(store_bytes())
    with closing(sqlite3.connect(store)) as connection, connection:
        keys = connection.execute("SELECT key FROM results ORDER BY key").fetchall()
        for (key,) in keys[: case["claimed"]]:
            row = (key, case["runner"], time.time() + case["ahead"])
            connection.execute("INSERT INTO claims VALUES (?, ?, ?)", row)
            connection.execute("DELETE FROM results WHERE key = ?", [key])
    lease, poll = claims.LEASE, claims.POLL
    claims.LEASE, claims.POLL = 0.2, 0.01  # shorter, to save time
    try:
        ended = run_command("reproduce", spec, "--store", store, "--jobs", 1)
    finally:
        claims.LEASE, claims.POLL = lease, poll
    with closing(sqlite3.connect(store)) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM results")
    if not ended.done or count != N_RESULTS:
        raise Defect("lost", f"{count} results of {N_RESULTS}: {ended.err[-300:]}", "claims")
    return True


TARGETS = [
    Target("schemas", "inputs", schema_cases, check_crafted_schema, share=3),
    Target("claims", "inputs", claim_cases, check_future_claims, share=2),
]
