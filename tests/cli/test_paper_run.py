"""``ambilearn paper run`` as a user runs it."""

import errno
import io
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

from ambilearn.cli.console import Console
from ambilearn.cli.paper_run import Progress, describe_failures, describe_other_code
from ambilearn.experiments.run import environment
from ambilearn.experiments.store import Store, StoreError
from ambilearn.experiments.task import SCORES, Result, Task

STORE = Path("out/results.sqlite")  # the default, as this system writes it


def test_more_runs_and_the_quick_version(run, measured):
    assert "2 of them already in" not in measured
    out = run("paper", "run", "mine.toml", "--runs", 3, "--jobs", 1)[1]
    assert f"6 tasks, 4 of them already in {STORE}; 2 to do" in out
    out = run("paper", "run", "mine.toml", "--quick", "--jobs", 1)[1]
    assert "2 tasks, 0 of them already in" in out
    with Store("out/results.sqlite") as store:
        assert sorted(r.task["rows"] for r in store.results().values()) == [30] * 2 + [40] * 6


def test_again_repeats_stored_results(run, measured):
    out = run("paper", "run", "mine.toml", "--again", "--jobs", 1)[1]
    assert "4 to do" in out
    assert "4 done" in out


def test_only_some_methods_and_data(run, spec):
    out = run("paper", "run", "mine.toml", "--methods", "pl-knn", "--data", "iris", "--jobs", 1)[1]
    assert "2 tasks" in out
    assert "lost" not in out
    err = run.fails("paper", "run", "mine.toml", "--data", "wine", status=2)
    assert "No tasks match" in err


def test_failures_are_reported_and_make_the_status_1(run, spec, tmp_path):
    (tmp_path / "bad.toml").write_text(spec.replace("[0.5]", "[7.0]"))
    status, out, _ = run("paper", "run", "bad.toml", "--jobs", 1, "--runs", 1)
    assert status == 1
    assert "0 done, 2 failed" in out
    assert "PLCL on iris, run 0: ValueError: p must be a number between 0 and 1" in out
    err = run.fails("paper", "verify", "bad.toml")
    assert "2 tasks failed" in err


def test_an_unknown_experiment_lists_the_known(run):
    err = run.fails("paper", "run", "nope", status=2)
    assert "Known experiments: ablation, controlled" in err


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
    errors = run.fails("paper", "run", "demo", "--quick")
    assert message in errors
    assert f"All results so far are in {STORE}; run the same command again to continue" in errors


TASKS = [Task("iris", "PLKNN", run) for run in range(3)]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        yield store


@pytest.fixture
def said():
    def said(describe, *arguments):
        stream = io.StringIO()
        describe(Console(rich=RichConsole(file=stream), every=0), *arguments)
        return stream.getvalue()

    return said


def ended(task, status="done", error=""):
    scores = dict.fromkeys(SCORES, 0.5)
    return Result(task.key, task.definition, status, scores, error=error)


def test_results_of_other_code_are_counted(said, store):
    store.save(ended(TASKS[0]), environment())
    assert said(describe_other_code, store) == ""
    for task in TASKS[1:]:
        store.save(ended(task), environment() | {"commit": "another"})
    text = said(describe_other_code, store)
    assert text.startswith("2 results in the store were measured with another version of the code")
    assert "--again" in text


def test_progress_counts_tasks_and_failures(said):
    def work(console):
        progress = Progress(console, 3)
        progress.note(ended(TASKS[0], "failed"))
        progress.note(ended(TASKS[1]))

    assert said(work).splitlines() == ["measuring …", "measuring: 2/3 tasks, 1 failed …"]


def test_each_kind_of_failure_once(said, store):
    for task in TASKS[:2]:
        store.save(ended(task, "failed", "Traceback …\nValueError: [p] is wrong\n"), environment())
    store.save(ended(TASKS[2]), environment())
    assert said(describe_failures, store, TASKS) in {
        f"  PLKNN on iris, run {run}: ValueError: [p] is wrong\n" for run in (0, 1)
    }
    assert said(describe_failures, store, TASKS[2:]) == ""
