import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import numpy as np
import pytest

from ambilearn.experiments.store import Store, StoreError
from ambilearn.experiments.task import Result, Task

HERE = {"host": "a", "versions": {"numpy": "2"}}
TASK = Task("iris", "PLCL", 0, candidates={"p": 0.5})


def done(task=TASK, accuracy=0.9, seconds=2.0):
    return Result(
        task.key, task.definition, "done", {"accuracy": accuracy}, {"n_iter": 3}, "", seconds
    )


def failed(task=TASK):
    return Result(task.key, task.definition, "failed", error="Traceback: nope", seconds=1.0)


def is_done(store):
    found = store.result(TASK.key)
    return found is not None and found.status == "done"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "deep" / "results.sqlite") as store:
        yield store


def test_round_trip(store):
    store.save(done(), HERE)
    assert store.results() == {TASK.key: done()}
    assert is_done(store)


def test_results_are_kept_after_the_process_ends(tmp_path):
    path = tmp_path / "r.sqlite"
    with Store(path) as store:
        store.save(done(), HERE)
    with Store(path) as store:
        assert store.results() == {TASK.key: done()}


def test_results_of_selected_keys(store):
    other = TASK.to(run=1)
    store.save(done(), HERE)
    store.save(done(other), HERE)
    assert set(store.results([other.key, "unknown"])) == {other.key}
    assert set(store.results()) == {TASK.key, other.key}
    assert store.results([]) == {}


def test_a_failure_is_stored_with_its_error(store):
    store.save(failed(), HERE)
    assert store.results()[TASK.key].error == "Traceback: nope"
    assert not is_done(store)


def test_success_replaces_failure_and_never_the_other_way(store):
    store.save(failed(), HERE)
    store.save(done(), HERE)
    store.save(failed(), HERE)
    assert store.results() == {TASK.key: done()}


def test_a_later_success_replaces_an_earlier_one(store):
    store.save(done(accuracy=0.5), HERE)
    store.save(done(accuracy=0.75), HERE)
    assert store.results()[TASK.key].scores == {"accuracy": 0.75}


def test_numbers_keep_every_bit(store):
    value = 0.1 + 0.2
    store.save(done(accuracy=value), HERE)
    assert store.results()[TASK.key].scores["accuracy"].hex() == value.hex()


def test_environments_with_their_counts(store):
    there = HERE | {"host": "b"}
    store.save(done(), HERE)
    store.save(done(TASK.to(run=1)), there)
    store.save(done(TASK.to(run=2)), there)
    assert sorted(store.environments(), key=lambda e: e[1]) == [(HERE, 1), (there, 2)]


def test_time_of_a_result_is_recorded(store):
    store.save(done(), HERE)
    with closing(sqlite3.connect(store.path)) as connection:
        ((finished,),) = connection.execute("SELECT finished FROM results").fetchall()
    assert finished.startswith("20")
    assert finished.endswith("Z")


def test_mean_seconds_count_only_what_is_done(store):
    store.save(done(seconds=1.0), HERE)
    store.save(done(TASK.to(run=1), seconds=3.0), HERE)
    store.save(failed(TASK.to(run=2)), HERE)
    assert store.mean_seconds() == {("iris", "PLCL", "fixed"): (2.0, 2)}


def test_it_is_a_write_ahead_log(store):
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_missing_store_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no result store .*nope\.sqlite"):
        Store(tmp_path / "nope.sqlite", create=False)
    assert not (tmp_path / "nope.sqlite").exists()


def test_a_failed_save_leaves_no_result_and_no_lock(store):
    broken = Result("k", TASK.definition, "neither", {}, {}, "", 1.0)
    with pytest.raises(StoreError, match="CHECK constraint"):
        store.save(broken, {"host": "only here"})
    assert store.results() == {}
    assert store.environments() == []
    with Store(store.path) as other:
        other.save(done(), HERE)
    assert is_done(store)


def test_a_reader_in_another_thread_during_saves(store):
    """As joblib does: it asks for the next task in a thread of its own."""
    errors = []

    def ask():
        try:
            for _ in range(200):
                is_done(store)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    for run in range(50):
        store.save(done(TASK.to(run=run)), HERE)
    thread.join()
    assert errors == []
    assert len(store.results()) == 50


WRITER = """
import sys
from ambilearn.experiments.task import Result
from ambilearn.experiments.store import Store
task = {"data": "iris", "method": "PLCL", "select": "fixed"}
name, n = sys.argv[2], int(sys.argv[3])
with Store(sys.argv[1]) as store:
    for run in range(n):
        for key in (f"{name}-{run}", f"both-{run}"):
            result = Result(key, task | {"run": run}, "done", {"accuracy": run / 7}, {}, "", 1.0)
            store.save(result, {"host": name})
"""


@pytest.mark.slow
def test_processes_that_create_and_write_one_store_at_once(tmp_path):
    path, n = tmp_path / "shared.sqlite", 60
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name, str(n)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b", "c")
    ]
    assert [(w.communicate()[1], w.returncode) for w in writers] == [("", 0)] * 3
    with Store(path) as store:
        results = store.results()
        assert len(results) == 4 * n
        assert all(r.scores["accuracy"] == r.task["run"] / 7 for r in results.values())
        check = store._connection.execute("PRAGMA integrity_check").fetchone()
    assert check == ("ok",)


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize(
    "schema", ["CREATE TABLE customers (name TEXT)", "CREATE TABLE results (score REAL)"]
)
def test_other_database_raises_and_is_unchanged(tmp_path, schema, journal):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode = {journal}")
        other.execute(schema)
        other.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"other\.sqlite is another .* pass another --store"):
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


def edit(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("scores", '{"accuracy": 0.8}'),
        ("scores", '{"accuracy": 0.'),
        ("task", "{}"),
        ("details", b"\xff\xfe"),
        ("seconds", 7.0),
        ("error", "?"),
        ("status", "failed"),
        ("finished", "1999"),
        ("environment", 99),
    ],
)
def test_a_changed_result_is_measured_again(store, column, value):
    other = TASK.to(run=1)
    for task in (TASK, other):
        store.save(done(task), HERE)
    edit(store.path, f"UPDATE results SET {column} = ? WHERE key = ?", value, TASK.key)
    assert set(store.results()) == set(store.versions()) == {other.key}
    assert store.result(TASK.key) is None
    assert store.n_damaged() == 1
    assert store.mean_seconds() == {("iris", "PLCL", "fixed"): (2.0, 1)}
    assert store.environments() == [(HERE, 1)]
    store.save(done(), HERE)
    assert store.n_damaged() == 0
    assert is_done(store)


def test_a_changed_environment_is_detected_as_damage(store):
    store.save(done(), HERE)
    edit(store.path, "UPDATE environments SET content = replace(content, 'numpy', 'nympu')")
    assert store.results() == {}
    assert store.environments() == []


def test_results_of_a_version_without_digests_are_read(tmp_path):
    path = tmp_path / "old.sqlite"
    with Store(path) as store:
        store.save(done(), HERE)
    edit(path, "DROP TABLE digests")
    edit(path, "DROP TABLE claims")
    with Store(path) as store:
        assert store.results() == {TASK.key: done()}
        edit(path, "UPDATE results SET scores = '{'")
        assert store.results() == {}
        assert store.n_damaged() == 1


def test_errors_with_lone_surrogates_are_saved(store):
    store.save(Result(TASK.key, TASK.definition, "failed", error="no file '\udcff.csv'"), HERE)
    assert store.result(TASK.key).error == "no file '?.csv'"


def use(path):
    """Everything that is done with a store."""
    with Store(path) as store:
        results = store.results()
        store.environments()
        store.mean_seconds()
        store.save(done(TASK.to(run=999)), HERE)
    return results


@pytest.mark.slow
def test_a_damaged_store_is_rejected_or_gives_the_same_results(tmp_path):
    """Whatever byte is wrong: no result is read that was not written."""
    path, expected = tmp_path / "r.sqlite", {}
    with Store(path) as store:
        for run in range(12):
            task = TASK.to(run=run)
            expected[task.key] = done(task, accuracy=run / 7, seconds=1.0 + run)
            store.save(expected[task.key], HERE)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    counts = {"rejected": 0, "harmless": 0}
    for place in rng.integers(0, len(content), 150).tolist():
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        for file in tmp_path.iterdir():
            file.unlink()
        path.write_bytes(damaged)
        try:
            found = use(path)
        except StoreError:
            counts["rejected"] += 1
        else:
            assert all(expected[key] == result for key, result in found.items())
            counts["harmless"] += 1
    assert min(counts.values()) > 0, counts


def test_a_damaged_store_explains_how_to_continue(tmp_path):
    path = tmp_path / "r.sqlite"
    with Store(path) as store:
        for run in range(40):
            store.save(done(TASK.to(run=run)), HERE)
    content = bytearray(path.read_bytes())
    content[3 * 4096 : 4 * 4096] = bytes(4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"r\.sqlite is damaged .* was not changed"):
        Store(path)
    assert path.read_bytes() == content


def test_a_full_disk_is_reported_and_stored_results_are_kept(store):
    store.save(done(), HERE)
    ((pages,),) = store._connection.execute("PRAGMA page_count")
    store._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own full disk
    long = Result(TASK.to(run=1).key, TASK.definition, "done", {}, {"text": "x" * 100_000}, "", 1.0)
    with pytest.raises(StoreError, match=r"cannot be read or written \(database or disk is full\)"):
        store.save(long, HERE)
    assert store.results() == {TASK.key: done()}
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.save(long, HERE)
    assert len(store.results()) == 2
