"""``ambilearn reproduce`` as a user runs it."""

import errno
from pathlib import Path

import pytest

from ambilearn.experiments.environment import environment
from ambilearn.experiments.store import Store, StoreError

STORE = Path("out/results.sqlite")  # the default, as this system writes it


def test_more_runs_and_the_quick_version(run, measured):
    assert "2 of them already in" not in measured
    out = run("reproduce", "mine.toml", "--runs", 3, "--jobs", 1)[1]
    assert f"6 tasks, 4 of them already in {STORE}; 2 to do" in out
    out = run("reproduce", "mine.toml", "--quick", "--jobs", 1)[1]
    assert "2 tasks, 0 of them already in" in out
    with Store("out/results.sqlite") as store:
        assert sorted(r.task["rows"] for r in store.results().values()) == [30] * 2 + [40] * 6


def test_again_repeats_stored_results(run, measured):
    out = run("reproduce", "mine.toml", "--again", "--jobs", 1)[1]
    assert "4 to do" in out
    assert "4 done" in out


def test_only_some_methods_and_data(run, spec):
    out = run("reproduce", "mine.toml", "--methods", "PL-KNN", "--data", "iris", "--jobs", 1)[1]
    assert "2 tasks" in out
    assert "lost" not in out
    err = run.fails("reproduce", "mine.toml", "--data", "wine", status=2)
    assert "No tasks match" in err


@pytest.mark.parametrize("name", ["PL-KNN", "PLKNN", "plknn", "pl-knn"])
def test_a_method_is_found_by_its_name_in_tables_and_in_python(run, spec, name):
    arguments = ["reproduce", "mine.toml", "--data", "iris", "--jobs", 1]
    assert "4 tasks" in run(*arguments, "--methods", f"{name}, plcl")[1]
    assert "2 tasks" in run(*arguments, "--methods", name)[1]


@pytest.mark.heavy
def test_a_cluster_on_this_machine(process, spec):
    pytest.importorskip("distributed")
    arguments = ["--cluster", "local", "--jobs", "1", "--runs", "1"]
    status, out, err = process("reproduce", "mine.toml", *arguments)
    assert status == 0, err.decode()
    assert "2 done, 0 failed" in out.decode()


def test_failures_are_reported_and_make_the_status_1(run, spec, tmp_path):
    (tmp_path / "bad.toml").write_text(spec.replace("[0.5]", "[7.0]"))
    status, out, _ = run("reproduce", "bad.toml", "--jobs", 1, "--runs", 1)
    assert status == 1
    assert "0 done, 2 failed" in out
    assert "PLCL on iris, run 0: ValueError: p must be a number between 0 and 1" in out
    err = run.fails("verify", "bad.toml")
    assert "2 tasks failed" in err


def test_an_unknown_experiment_lists_the_known(run):
    err = run.fails("reproduce", "nope", status=2)
    assert "Known experiments: ablation, controlled" in err


def test_results_of_other_code_are_reported(run, measured):
    with Store("out/results.sqlite") as store:
        for result in store.results().values():
            store.save(result, environment() | {"commit": "old"})
    out = run("reproduce", "mine.toml", "--jobs", 1)[1]
    assert "4 results in the store were measured with another version of the code" in out


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyboardInterrupt(), "Stopped."),
        (ChildProcessError("A process was killed: use fewer --jobs."), "killed: use fewer --jobs."),
        (MemoryError(), "There is not enough memory"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "No space left on device. Free",
        ),
        (StoreError("r.sqlite: cannot be read or written."), "cannot be read or written."),
    ],
)
def test_a_run_that_ends_early_explains_how_to_continue(run, monkeypatch, error, message):
    def stop(*arguments, **options):
        raise error

    monkeypatch.setattr("ambilearn.experiments.run.run_tasks", stop)
    errors = run.fails("reproduce", "demo", "--quick")
    assert message in errors
    assert f"All results so far are in {STORE}; run the same command again to continue" in errors


def test_a_damaged_result_is_reported_and_measured_again(run, measured):
    with Store(STORE) as store, store.transaction() as connection:
        connection.execute("UPDATE results SET scores = '{}' WHERE run = 0 AND method = 'PLCL'")
    _, out, errors = run("tables", "mine.toml")
    assert "1 result in out" in errors.replace("\\", "/")
    assert "`ambilearn reproduce` measures them again" in errors
    out = run("reproduce", "mine.toml", "--jobs", 1)[1]
    assert "4 tasks, 3 of them already in" in out
    assert "1 done, 0 failed." in out
    assert "damaged" not in run("tables", "mine.toml")[2]


def test_a_damaged_store_is_rejected_and_not_changed(run, measured):
    content = bytearray(STORE.read_bytes())
    content[4096:8192] = bytes(4096)
    STORE.write_bytes(content)
    for command in ("reproduce", "tables", "report", "verify"):
        errors = run.fails(command, "mine.toml")
        assert "results.sqlite is damaged (" in errors
        assert "move the file away and run again" in errors
    assert STORE.read_bytes() == content
