"""The runner, also killed and doubled: real processes, real signals."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from alike import assert_alike

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


@pytest.mark.slow
def test_processes_give_the_same_results(tmp_path):
    with Store(tmp_path / "one.sqlite") as one, Store(tmp_path / "two.sqlite") as two:
        run_tasks(tasks_of(), one, jobs=1)
        run_tasks(tasks_of(), two, jobs=2)
    assert_alike(contents(tmp_path / "one.sqlite"), contents(tmp_path / "two.sqlite"))


# A runner that stands still after six results until it is killed, or its test has gone.
STOPPING_RUNNER = """
import sys
from pathlib import Path
from ambilearn.experiments.run import run_tasks
from ambilearn.experiments.spec import parse_spec
from ambilearn.experiments.store import Store

if __name__ == "__main__":
    results = []

    def stand_still(result):
        results.append(result)
        if len(results) == 6:
            print("six results are stored", flush=True)
            sys.stdin.read()

    with Store(sys.argv[2]) as store:
        tasks = parse_spec("runs", Path(sys.argv[1]).read_text()).tasks()
        run_tasks(tasks, store, jobs=2, on_result=stand_still)
"""


def reproduce(spec, store, jobs):
    command = [sys.executable, "-m", "ambilearn", "reproduce", str(spec), "--store", str(store)]
    return subprocess.Popen(
        [*command, "--jobs", str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )


def stored(path):
    """Key and time of every result."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, finished || seconds FROM results"))


@pytest.fixture
def spec_file(tmp_path):
    path = tmp_path / "runs.toml"
    path.write_text(SPEC.format(runs=4))
    return path


@pytest.mark.slow
def test_killed_it_resumes_and_repeats_nothing(spec_file, tmp_path):
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

    second = reproduce(spec_file, store, jobs=2)
    output = second.communicate()[0]
    assert second.returncode == 0, output
    assert f"6 of them in {store} already" in output
    after = stored(store)
    assert set(after) == {task.key for task in tasks}
    assert {key: after[key] for key in survived} == survived  # not even written again
    with Store(tmp_path / "clean.sqlite") as clean:
        run_tasks(tasks, clean)
    assert_alike(contents(store), contents(tmp_path / "clean.sqlite"))


@pytest.mark.slow
def test_two_runners_on_one_store(spec_file, tmp_path):
    store = tmp_path / "r.sqlite"
    runners = [reproduce(spec_file, store, jobs=1) for _ in range(2)]
    outputs = [runner.communicate()[0] for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0], outputs
    assert set(stored(store)) == {task.key for task in tasks_of(runs=4)}
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM environments").fetchone() == (1,)
