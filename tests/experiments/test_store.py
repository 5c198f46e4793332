import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from protected import open_folder, read_only

from ambilearn.experiments import store as module
from ambilearn.experiments.store import Store, StoreError
from ambilearn.experiments.task import SCORES, Result, Task

HERE = {
    "python": "3.12",
    "versions": {"numpy": "2"},
    "commit": None,
    "host": "a",
    "machine": "Linux x",
}
TASK = Task("iris", "PLCL", 0, candidates={"p": 0.5})


def done(task=TASK, seconds=2.0, **details):
    scores = dict.fromkeys(SCORES, 0.1 + 0.2)
    return Result(task.key, task.definition, "done", scores, details, "", seconds)


def failed(task=TASK):
    return Result(task.key, task.definition, "failed", error="Traceback: nope", seconds=1.0)


def is_done(store):
    found = store.results().get(TASK.key)
    return found is not None and found.status == "done"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "deep" / "results.sqlite") as store:
        yield store


def test_round_trip(store):
    store.save(done(), HERE)
    assert store.results() == {TASK.key: done()}
    with Store(store.path) as again:
        assert again.results() == {TASK.key: done()}


def test_success_replaces_failure_and_never_the_other_way(store):
    store.save(failed(), HERE)
    store.save(done(), HERE)
    store.save(failed(), HERE)
    assert store.results() == {TASK.key: done()}


def test_environments_with_their_counts(store):
    there = HERE | {"host": "b"}
    store.save(done(), HERE)
    store.save(done(TASK.to(run=1)), there)
    store.save(done(TASK.to(run=2)), there)
    damaged = ["{damaged", "1", '{"host": "a"}', json.dumps(HERE | {"versions": 3})]
    for run, text in enumerate(damaged, start=3):
        store.save(done(TASK.to(run=run)), HERE)
        with closing(sqlite3.connect(store.path)) as connection, connection:
            edit = "UPDATE results SET environment = ? WHERE key = ?"
            connection.execute(edit, [text, TASK.to(run=run).key])
    assert sorted(store.environments(), key=lambda e: e[1]) == [(HERE, 1), (there, 2)]


def test_a_missing_store_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no result store .*nope\.sqlite"):
        Store(tmp_path / "nope.sqlite", create=False)
    assert not (tmp_path / "nope.sqlite").exists()


def test_a_failed_save_leaves_no_result_and_no_lock(store):
    broken = replace(done(), status="neither")
    with pytest.raises(StoreError, match="CHECK constraint"):
        store.save(broken, {"host": "only here"})
    assert store.results() == {}
    assert store.environments() == []
    with Store(store.path) as other:
        other.save(done(), HERE)
    assert is_done(store)


@pytest.mark.parametrize(
    ("schema", "journal"),
    [
        ("CREATE TABLE customers (name TEXT)", "delete"),
        ("CREATE TABLE results (score REAL)", "wal"),
    ],
)
def test_other_database_raises_and_is_unchanged(tmp_path, schema, journal):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode = {journal}")
        other.execute(schema)
        other.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"other\.sqlite is another .* Pass another --store"):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".sqlite"] == [path.name]


def test_an_empty_file_and_an_existing_store_are_accepted(tmp_path):
    (tmp_path / "empty.sqlite").touch()
    for _ in range(2):
        with Store(tmp_path / "empty.sqlite") as store:
            store.save(done(), HERE)
            assert len(store.results()) == 1


@pytest.mark.parametrize("name", ["a b#%20.sqlite", "a?mode=memory.sqlite"])
def test_a_name_that_needs_quoting(tmp_path, name):
    if os.name == "nt" and "?" in name:
        pytest.skip("no file can have this name on Windows")
    path = tmp_path / name
    for _ in range(2):
        with Store(path) as store:
            store.save(done(), HERE)
    assert path.is_file()


# ---- damage


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("result", '{"key": '),
        ("result", b"\xff"),
        ("result", "3"),
        ("result", "[" * 100_000),
        ("status", "failed"),
        ("$.key", "0123"),
        ("$.scores", {"accuracy": 0.5}),
        ("$.scores.accuracy", "x"),
        ("$.details", {"tried": [{}]}),
        ("$.details", {"warnings": 3}),
        ("$.task", {"data": "wine"}),
        ("$.seconds", None),
    ],
)
def test_a_damaged_result_is_missing(store, column, value):
    other = TASK.to(run=1)
    for task in (TASK, other):
        store.save(done(task), HERE)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        edit = f"UPDATE results SET {column} = ? WHERE key = ?"
        if column.startswith("$"):
            edit = (
                f"UPDATE results SET result = json_set(result, '{column}', json(?)) WHERE key = ?"
            )
            value = json.dumps(value)
        connection.execute(edit, (value, TASK.key))
    assert set(store.results()) == {other.key}
    store.save(done(), HERE)
    assert is_done(store)


def test_a_killed_process_leaves_a_complete_store(tmp_path):
    """What a kill during a save leaves: the file, and SQLite's journal of the old pages."""
    path, journal = tmp_path / "r.sqlite", tmp_path / "r.sqlite-journal"
    with Store(path) as store:
        store.save(done(), HERE)
        store._connection.execute("BEGIN IMMEDIATE")
        store._connection.execute("PRAGMA cache_spill = 1")
        store._connection.execute("UPDATE results SET result = 'half'")
        store._connection.execute("PRAGMA cache_size = 1")
        for number in range(200):
            store._connection.execute(
                "INSERT INTO results VALUES (?, 'done', ?, '', '')", [number, "x" * 4000]
            )
        left = path.read_bytes(), journal.read_bytes()
    path.write_bytes(left[0])
    journal.write_bytes(left[1])
    with Store(path) as store:
        assert store.results() == {TASK.key: done()}
        assert store.environments() == [(HERE, 1)]


def test_errors_with_lone_surrogates_are_saved(store):
    result = Result(TASK.key, TASK.definition, "failed", error="no file '\udcff.csv'")
    store.save(result, HERE)
    assert store.results() == {TASK.key: result}


def test_a_damaged_store_explains_how_to_continue(tmp_path):
    path = tmp_path / "r.sqlite"
    with Store(path) as store:
        for run in range(40):
            store.save(done(TASK.to(run=run)), HERE)
    content = bytearray(path.read_bytes())
    content[3 * 4096 : 4 * 4096] = bytes(4096)
    path.write_bytes(content)
    with pytest.raises(
        StoreError, match=r"r\.sqlite is damaged \(.*Restore a copy, or move the file"
    ):
        Store(path)
    assert path.read_bytes() == content


def test_a_full_disk_is_reported_and_stored_results_are_kept(store):
    store.save(done(), HERE)
    ((pages,),) = store._connection.execute("PRAGMA page_count")
    store._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own full disk
    long = done(TASK.to(run=1), text="x" * 100_000)
    with pytest.raises(
        StoreError, match=r"cannot be used \(database or disk is full\)\. Check free"
    ):
        store.save(long, HERE)
    assert store.results() == {TASK.key: done()}
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.save(long, HERE)
    assert len(store.results()) == 2


def test_a_long_lock_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BUSY_TIMEOUT", 0.05)
    with Store(tmp_path / "r.sqlite") as store:
        with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match=r"cannot be used \(database is locked\)\. Pass"):
                store.save(done(), HERE)
        store.save(done(), HERE)


def test_a_store_that_cannot_be_written_is_read():
    with open_folder() as folder:
        path = folder / "r.sqlite"
        with Store(path) as store:
            store.save(done(), HERE)
        with read_only(folder):
            with Store(path, create=False) as store:
                assert store.results() == {TASK.key: done()}
                assert store.environments() == [(HERE, 1)]
                with pytest.raises(StoreError, match="ake the file and its folder writable"):
                    store.save(done(), HERE)
            with pytest.raises(StoreError, match="ake the file and its folder writable"):
                Store(path)
        assert [file.name for file in folder.iterdir()] == ["r.sqlite"]


LOCKING = """
import sys
from ambilearn.experiments.store import Store
with Store(sys.argv[1]) as store, store.only_writer():
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_killed_run_does_not_lock_the_store(store):
    command = [sys.executable, "-c", LOCKING, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"locked\n"
        with pytest.raises(StoreError, match="Another run"), store.only_writer():
            pass
        child.kill()
    with store.only_writer():
        store.save(done(), HERE)
