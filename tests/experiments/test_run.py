"""The runner, also killed and doubled: real processes, real signals."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

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
    """What defines and what came out, without the times."""
    with Store(path) as store:
        return {key: (r.task, r.status, r.scores, r.details) for key, r in store.results().items()}


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


def test_more_runs_add_to_what_is_there(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        run_tasks(tasks_of(runs=1), store)
        before = store.results()
        summary = run_tasks(tasks_of(runs=2), store)
        assert (summary.already_done, summary.done) == (4, 4)
        assert {key: store.results()[key] for key in before} == before


def test_a_result_is_in_the_store_when_it_is_announced(tmp_path):
    path = tmp_path / "r.sqlite"
    with Store(path) as store, Store(path) as other:
        run_tasks(
            tasks_of(1),
            store,
            on_result=lambda r: pytest.fail("not stored") if not other.is_done(r.key) else None,
        )


def test_a_failure_does_not_stop_the_rest_and_is_tried_again(tmp_path):
    bad = tasks_of()[0].to(candidates={"p": 7.0})
    good = tasks_of()[1:]
    with Store(tmp_path / "r.sqlite") as store:
        summary = run_tasks([bad, *good], store)
        assert (summary.done, summary.failed) == (7, 1)
        assert "between 0 and 1" in store.results()[bad.key].error
        assert missing_tasks([bad, *good], store) == [bad]


def test_again_measures_what_is_done(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        run_tasks(tasks_of(1), store)
        assert missing_tasks(tasks_of(1), store) == []
        assert run_tasks(tasks_of(1), store, again=True).done == 4


def test_what_another_runner_finished_meanwhile_is_not_repeated(tmp_path):
    path, tasks = tmp_path / "r.sqlite", tasks_of()
    with Store(path) as store, Store(path) as other:
        done = []

        def finish_the_rest(result):
            done.append(result.key)
            if len(done) == 1:  # the other runner does everything else
                run_tasks(tasks, other)

        run_tasks(tasks, store, on_result=finish_the_rest)
        # At most what was already on its way to a worker when the other had finished it.
        assert len(done) < len(tasks)
        assert len(store.results()) == len(tasks)


def test_processes_give_the_same_bits(tmp_path):
    with Store(tmp_path / "one.sqlite") as one, Store(tmp_path / "two.sqlite") as two:
        run_tasks(tasks_of(), one, jobs=1)
        run_tasks(tasks_of(), two, jobs=2)
    assert contents(tmp_path / "one.sqlite") == contents(tmp_path / "two.sqlite")


def reproduce(spec, store, jobs="2"):
    command = [sys.executable, "-m", "ambilearn", "reproduce", str(spec), "--store", str(store)]
    return subprocess.Popen(
        [*command, "--jobs", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def stored(path):
    """Key and time of every result, read while others write."""
    try:
        with sqlite3.connect(path, timeout=10) as connection:
            return dict(connection.execute("SELECT key, finished || seconds FROM results"))
    except sqlite3.OperationalError:  # not there yet
        return {}


@pytest.fixture
def spec_file(tmp_path):
    path = tmp_path / "runs.toml"
    path.write_text(SPEC.format(runs=9))
    return path


def wait_until(condition, process):
    while not condition():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)


def test_killed_it_resumes_and_repeats_nothing(spec_file, tmp_path):
    store, tasks = tmp_path / "r.sqlite", tasks_of(runs=9)
    first = reproduce(spec_file, store)
    try:
        wait_until(lambda: len(stored(store)) >= 6, first)
    finally:
        os.killpg(first.pid, signal.SIGKILL)  # the runner and its workers, as a power cut does
        first.wait()
    survived = stored(store)
    assert 6 <= len(survived) < len(tasks)

    second = reproduce(spec_file, store)
    output = second.communicate()[0]
    assert second.returncode == 0
    assert f"{len(survived)} of them in {store} already" in output
    after = stored(store)
    assert set(after) == {task.key for task in tasks}
    assert {key: after[key] for key in survived} == survived  # not even written again
    with Store(tmp_path / "clean.sqlite") as clean:
        run_tasks(tasks[:8], clean)
    expected = contents(tmp_path / "clean.sqlite")
    assert {key: value for key, value in contents(store).items() if key in expected} == expected


def test_two_runners_on_one_store(spec_file, tmp_path):
    store = tmp_path / "r.sqlite"
    runners = [reproduce(spec_file, store, jobs="1") for _ in range(2)]
    outputs = [runner.communicate()[0] for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0], outputs
    assert set(stored(store)) == {task.key for task in tasks_of(runs=9)}
    with sqlite3.connect(store) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM environments").fetchone() == (1,)
