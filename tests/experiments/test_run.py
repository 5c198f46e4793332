"""The runner, with killed and concurrent runners: real processes, real signals."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from threading import Thread

import prepared
import pytest
from alike import assert_alike

from ambilearn.experiments.claims import Claim, Claims
from ambilearn.experiments.environment import environment
from ambilearn.experiments.execute import execute
from ambilearn.experiments.run import missing_tasks, run_tasks
from ambilearn.experiments.spec import parse_spec
from ambilearn.experiments.store import Store

SPEC = """
title = "Runs"
data = ["wine"]
methods = ["PL-CL", "PL-KNN"]
runs = {runs}
[protocol]
rows = 80
[[candidates]]
group = "I"
title = "p"
vary = "p"
values = [0.5, 0.9]
r = 1
"""


def tasks_of(runs=2):
    return list(parse_spec("runs", SPEC.format(runs=runs)).tasks())


def contents(path):
    """What defines a task and what came out, without the times."""
    with Store(path) as store:
        return [
            {"task": r.task, "status": r.status, "scores": r.scores, "details": r.details}
            for _, r in sorted(store.results().items())
        ]


def test_everything_is_measured_once(tmp_path):
    tasks = tasks_of()
    with Store(tmp_path / "r.sqlite") as store:
        seen = []
        summary = run_tasks(tasks + tasks, store, on_result=seen.append)
        assert (summary.already_done, summary.done, summary.failed) == (0, 8, 0)
        assert {result.key for result in seen} == {task.key for task in tasks}
        assert len(seen) == 8
        again = run_tasks(tasks, store, on_result=seen.append)
        assert (again.already_done, again.done) == (8, 0)
        assert len(seen) == 8


def test_more_runs_add_to_existing_results(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        run_tasks(tasks_of(runs=1), store)
        before = store.results()
        summary = run_tasks(tasks_of(runs=2), store)
        assert (summary.already_done, summary.done) == (4, 4)
        assert {key: store.results()[key] for key in before} == before


def test_a_result_is_stored_before_it_is_reported(tmp_path):
    path = tmp_path / "r.sqlite"
    with Store(path) as store, Store(path) as other:
        run_tasks(
            tasks_of(1),
            store,
            on_result=lambda r: pytest.fail("not stored") if other.result(r.key) != r else None,
        )


def test_a_failure_does_not_stop_other_tasks_and_is_retried(tmp_path):
    bad = tasks_of()[0].to(candidates={"p": 7.0})
    good = tasks_of()[1:]
    with Store(tmp_path / "r.sqlite") as store:
        summary = run_tasks([bad, *good], store)
        assert (summary.done, summary.failed) == (7, 1)
        assert "between 0 and 1" in store.results()[bad.key].error
        assert missing_tasks([bad, *good], store) == [bad]


def test_again_repeats_completed_tasks(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        run_tasks(tasks_of(1), store)
        assert missing_tasks(tasks_of(1), store) == []
        assert run_tasks(tasks_of(1), store, again=True).done == 4


def test_tasks_completed_by_another_runner_are_not_repeated(tmp_path):
    path, tasks = tmp_path / "r.sqlite", tasks_of()
    with Store(path) as store, Store(path) as other:
        told = []

        def finish_the_rest(result):
            told.append(result.key)
            if len(told) == 1:  # the other runner does everything else
                for task in tasks:
                    if other.result(task.key) is None:
                        other.save(execute(task), environment())

        summary = run_tasks(tasks, store, on_result=finish_the_rest)
        # All but the first, and what was already on its way to a worker.
        assert 0 < len(tasks) - summary.elsewhere <= 3
        assert sorted(told) == sorted(task.key for task in tasks)
        assert (summary.done, summary.failed) == (len(tasks), 0)
        assert len(store.results()) == len(tasks)


def test_tasks_of_another_runner_are_not_executed(tmp_path):
    """Two runners in two threads, the second of which begins in the midst of the first."""
    path, tasks, summaries = tmp_path / "r.sqlite", tasks_of(), []

    def run_elsewhere():
        with Store(path) as other:
            summaries.append(run_tasks(tasks, other))

    thread = Thread(target=run_elsewhere)
    with Store(path) as store:
        began = []
        first = lambda result: began or (began.append(result), thread.start())  # noqa: E731
        summaries.append(run_tasks(tasks, store, on_result=first))
        thread.join()
        assert set(store.results()) == {task.key for task in tasks}
    done, waited_for, seen_before = (
        [getattr(summary, name) for summary in summaries]
        for name in ("done", "elsewhere", "already_done")
    )
    # Everything is measured once, by one of the two.
    assert sum(done) - sum(waited_for) == len(tasks)
    assert [sum(each) for each in zip(done, seen_before, strict=True)] == [len(tasks)] * 2


def test_tasks_of_a_killed_runner_are_claimed_again(tmp_path):
    tasks = tasks_of(runs=1)
    with Store(tmp_path / "r.sqlite") as store:
        killed = Claims(store)  # never ended: its claims stay
        assert {killed.take(task.key) for task in tasks} == {Claim.OURS}
        assert run_tasks(tasks, store).done == len(tasks)


@pytest.mark.slow
def test_processes_give_the_same_results(tmp_path):
    with Store(tmp_path / "one.sqlite") as one, Store(tmp_path / "two.sqlite") as two:
        run_tasks(tasks_of(), one, jobs=1)
        run_tasks(tasks_of(), two, jobs=2)
    assert_alike(contents(tmp_path / "one.sqlite"), contents(tmp_path / "two.sqlite"))


# A runner that waits after six results until it is killed, or its test has ended.
STOPPING_RUNNER = """
import sys
from pathlib import Path
from ambilearn.experiments.run import run_tasks
from ambilearn.experiments.spec import parse_spec
from ambilearn.experiments.store import Store

if __name__ == "__main__":
    results = []

    def wait_after_six(result):
        results.append(result)
        if len(results) == 6:
            print("six results are stored", flush=True)
            sys.stdin.read()

    with Store(sys.argv[2]) as store:
        tasks = parse_spec("runs", Path(sys.argv[1]).read_text()).tasks()
        run_tasks(tasks, store, jobs=2, on_result=wait_after_six)
"""


def reproduce(spec, store, log):
    """A process that reproduces, and writes what it prints into a file."""
    arguments = ["reproduce", spec, "--store", store, "--jobs", 1]
    return prepared.start(arguments, {"stdin": os.devnull, "stdout": log, "stderr": log})


def stored(path):
    """Key and time of every result."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, finished || seconds FROM results"))


@pytest.fixture
def spec_file(tmp_path):
    path = tmp_path / "runs.toml"
    path.write_text(SPEC.format(runs=4))
    return path


@pytest.mark.heavy
def test_killed_run_resumes_without_repetition(spec_file, tmp_path):
    store, tasks = tmp_path / "r.sqlite", tasks_of(runs=4)
    (tmp_path / "runner.py").write_text(STOPPING_RUNNER)
    first = subprocess.Popen(
        [sys.executable, str(tmp_path / "runner.py"), str(spec_file), str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    with first:
        said = first.stdout.readline()
        if hasattr(os, "killpg"):  # the runner and its workers, as a power cut does
            os.killpg(first.pid, signal.SIGKILL)
        else:
            first.kill()
    assert said == "six results are stored\n"
    survived = stored(store)
    assert len(survived) == 6 < len(tasks)

    second = reproduce(spec_file, store, tmp_path / "log")
    second.join()
    output = (tmp_path / "log").read_text("utf-8")
    assert second.exitcode == 0, output
    assert f"6 of them already in {store}" in output
    after = stored(store)
    assert set(after) == {task.key for task in tasks}
    assert {key: after[key] for key in survived} == survived  # not even written again
    with Store(tmp_path / "clean.sqlite") as clean:
        run_tasks(tasks, clean)
    assert_alike(contents(store), contents(tmp_path / "clean.sqlite"))


@pytest.mark.heavy
def test_two_runners_on_one_store_share_the_work(spec_file, tmp_path):
    store = tmp_path / "r.sqlite"
    logs = [tmp_path / "first", tmp_path / "second"]
    runners = [reproduce(spec_file, store, log) for log in logs]
    for runner in runners:
        runner.join()
    outputs = [log.read_text("utf-8") for log in logs]
    assert [runner.exitcode for runner in runners] == [0, 0], outputs
    tasks = tasks_of(runs=4)
    assert set(stored(store)) == {task.key for task in tasks}
    counts = [
        re.search(r"(\d+) done, 0 failed(?:, (\d+) of them by another)?", text).groups(default="0")
        for text in outputs
    ]
    assert sum(int(done) - int(elsewhere) for done, elsewhere in counts) == len(tasks), outputs
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM environments").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
