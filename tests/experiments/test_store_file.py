"""The file of a store: whatever else is in the database, and where nothing can be written."""

import sqlite3
from contextlib import closing

import pytest
from protected import open_folder, read_only

from ambilearn.experiments import store_file
from ambilearn.experiments.store import Store
from ambilearn.experiments.store_file import StoreError
from ambilearn.experiments.task import Result, Task

TASK = Task("iris", "PLKNN", 0, candidates={"p": 0.5})
DONE = Result(TASK.key, TASK.definition, "done", {"accuracy": 0.9}, {}, "", 1.0)


def make_store(path, *statements):
    with Store(path) as store:
        store.save(DONE, {"host": "a"})
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (
            ["CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END"],
            "the trigger 't', which is not part of",
        ),
        (
            ["CREATE TRIGGER t AFTER DELETE ON claims BEGIN DELETE FROM results; END"],
            "the trigger 't', which is not part of",
        ),
        (
            ["DROP TABLE claims", f"CREATE VIEW claims AS {ENDLESS.format('x AS key')}"],
            "a view 'claims' that differs from",
        ),
        (
            [
                "DROP TABLE digests",
                f"CREATE VIEW digests AS {ENDLESS.format('x AS key, x AS digest')}",
            ],
            "a view 'digests' that differs from",
        ),
        (["CREATE VIEW v AS SELECT * FROM results"], "the view 'v', which is not part of"),
        (["CREATE TABLE other (a)"], "the table 'other', which is not part of"),
        (["CREATE INDEX i ON results (data)"], "the index 'i', which is not part of"),
        (["CREATE UNIQUE INDEX i ON results (data)"], "the index 'i', which is not part of"),
        (["ALTER TABLE results ADD COLUMN more"], "a table 'results' that differs from"),
        (["ALTER TABLE results DROP COLUMN scores"], "a table 'results' that differs from"),
        (
            ["DROP TABLE claims", "CREATE TABLE claims (key, runner, expires)"],
            "a table 'claims' that differs from",
        ),
        (
            [
                "DROP TABLE claims",
                "CREATE TABLE claims (key TEXT PRIMARY KEY, runner TEXT NOT NULL,"
                " expires REAL NOT NULL CHECK (expires < 0)) WITHOUT ROWID",
            ],
            "a table 'claims' that differs from",
        ),
    ],
)
def test_unexpected_schema_raises(tmp_path, statements, what, create):
    path = make_store(tmp_path / "r.sqlite", *statements)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"r\.sqlite has {what} .*was not changed"):
        Store(path, create=create)
    assert path.read_bytes() == before


def test_a_trigger_in_the_log_is_found_too(tmp_path):
    path = tmp_path / "r.sqlite"
    with Store(path), closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END")
        with pytest.raises(StoreError, match="the trigger 't'"):
            Store(path)


def test_a_schema_with_other_whitespace_is_accepted(tmp_path):
    """As a tool that copies databases may write it."""
    path = tmp_path / "r.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(store_file._SCHEMA.replace("    ", "\n\t "))
    make_store(path)


def test_a_long_lock_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(store_file, "_BUSY_TIMEOUT", 0.05)
    path = make_store(tmp_path / "r.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as other, Store(path) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"is locked by another program .* end that program"):
            store.save(DONE, {})


# ---- read-only


@pytest.fixture
def shelf():
    with open_folder() as folder:
        yield folder


def test_a_store_that_cannot_be_written_is_read(shelf):
    path = make_store(shelf / "r.sqlite")
    with read_only(shelf):
        with Store(path, create=False) as store:
            assert store.results() == {TASK.key: DONE}
            assert store.environments() == [({"host": "a"}, 1)]
            with pytest.raises(StoreError, match="cannot be opened or written"):
                store.save(DONE, {})
        with pytest.raises(StoreError, match="make the file and its folder writable"):
            Store(path)
    assert [file.name for file in shelf.iterdir()] == ["r.sqlite"]


def test_a_read_only_store_of_an_earlier_version_is_read(shelf):
    path = make_store(shelf / "r.sqlite", "DROP TABLE digests", "DROP TABLE claims")
    with read_only(shelf), Store(path, create=False) as store:
        assert store.results() == {TASK.key: DONE}


def test_a_read_only_store_with_a_trigger_is_rejected(shelf):
    path = make_store(shelf / "r.sqlite", "CREATE VIEW v AS SELECT 1")
    with read_only(shelf), pytest.raises(StoreError, match="the view 'v'"):
        Store(path, create=False)


def test_results_in_the_log_of_a_read_only_store_are_never_ignored(shelf):
    path, log = shelf / "r.sqlite", shelf / "r.sqlite-wal"
    with Store(path) as store:
        store.save(DONE, {})
        content = path.read_bytes(), log.read_bytes()
    path.write_bytes(content[0])  # as a kill leaves them
    log.write_bytes(content[1])
    with read_only(shelf), pytest.raises(StoreError, match=r"copy it, with its -wal file"):
        Store(path, create=False)
    with Store(path, create=False) as store:
        assert store.results() == {TASK.key: DONE}
