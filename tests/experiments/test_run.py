"""The runner, its workers and kills: real processes, real signals."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress

import prepared
import pytest

from ambilearn.experiments.run import missing_tasks, on_processes, run_tasks
from ambilearn.experiments.spec import parse_spec
from ambilearn.experiments.store import Store, StoreError
from ambilearn.experiments.task import Result, Task

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


def scores(path):
    """Scores of all tasks."""
    with Store(path) as store:
        results = store.results()
    return {f"{key} {name}": x for key, r in results.items() for name, x in r.scores.items()}


def test_everything_is_measured_once(tmp_path):
    tasks = tasks_of()
    with Store(tmp_path / "r.sqlite") as store:
        seen = []
        summary = run_tasks(tasks + tasks, store, on_result=seen.append)
        assert summary == {"done": 8, "failed": 0}
        assert {result.key for result in seen} == {task.key for task in tasks}
        assert len(seen) == 8
        again = run_tasks(tasks, store, on_result=seen.append)
        assert again == {"done": 0, "failed": 0}
        assert len(seen) == 8


def test_a_result_is_stored_before_it_is_reported(tmp_path):
    path = tmp_path / "r.sqlite"
    with Store(path) as store, Store(path) as other:
        run_tasks(
            tasks_of(1),
            store,
            on_result=lambda r: pytest.fail("not stored") if other.results()[r.key] != r else None,
        )


def test_a_failure_does_not_stop_other_tasks_and_is_retried(tmp_path):
    bad = tasks_of()[0].to(candidates={"p": 7.0})
    good = tasks_of()[1:]
    with Store(tmp_path / "r.sqlite") as store:
        summary = run_tasks([bad, *good], store)
        assert summary == {"done": 7, "failed": 1}
        assert "between 0 and 1" in store.results()[bad.key].error
        assert missing_tasks([bad, *good], store) == [bad]


def test_another_run_on_the_same_store_is_rejected(tmp_path):
    path, tasks = tmp_path / "r.sqlite", tasks_of(1)
    with Store(path) as store, Store(path) as other:
        with store.only_writer(), pytest.raises(StoreError, match=r"Another run writes to .*wait"):
            run_tasks(tasks, other)
        assert other.results() == {}
        assert run_tasks(tasks, other)["done"] == len(tasks)


@pytest.mark.slow
def test_processes_give_the_same_results(tmp_path):
    with Store(tmp_path / "one.sqlite") as one, Store(tmp_path / "two.sqlite") as two:
        run_tasks(tasks_of(), one, jobs=1)
        run_tasks(tasks_of(), two, jobs=2)
    # Not every BLAS repeats every bit.
    assert scores(tmp_path / "one.sqlite") == pytest.approx(scores(tmp_path / "two.sqlite"), 1e-10)


# A runner that waits after six results until it is killed, or its test has ended.
STOPPING_RUNNER = """
import sys
from pathlib import Path
from ambilearn.experiments.run import run_tasks
from ambilearn.experiments.spec import parse_spec
from ambilearn.experiments.store import Store, StoreError
from ambilearn.experiments.task import Result, Task

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
    arguments = ["paper", "run", spec, "--store", store, "--jobs", 1]
    return prepared.start(arguments, {"stdin": os.devnull, "stdout": log, "stderr": log})


def stored(path):
    """Key and time of every result."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, finished || result FROM results"))


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
        rejected = reproduce(spec_file, store, tmp_path / "rejected")
        rejected.join()
        if hasattr(os, "killpg"):  # the runner and its workers, as a power cut does
            os.killpg(first.pid, signal.SIGKILL)
        else:
            first.kill()
    assert said == "six results are stored\n"
    assert rejected.exitcode == 1
    assert "Another run writes to" in (tmp_path / "rejected").read_text("utf-8")
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
    assert scores(store) == pytest.approx(scores(tmp_path / "clean.sqlite"), 1e-10)


# ---- processes


def number(task):
    return Result(task.key, {}, "done", details={"run": task.run, "process": os.getpid()})


def die_on_three(task):
    if task.run == 3:
        os._exit(1)
    return number(task)


TASKS = [Task("iris", "PLKNN", run) for run in range(9)]


@pytest.mark.slow
@pytest.mark.heavy
def test_every_task_is_executed_once_in_other_processes():
    results = list(on_processes(number, TASKS, jobs=2))
    assert sorted(r.details["run"] for r in results) == list(range(9))
    assert os.getpid() not in {r.details["process"] for r in results}


@pytest.mark.heavy
def test_killed_process_raises_and_results_are_kept():
    results = []
    with pytest.raises(
        ChildProcessError, match=r"was killed, possibly by the system .* use fewer --jobs"
    ):
        results.extend(on_processes(die_on_three, TASKS, jobs=2))
    assert list(on_processes(number, TASKS[:2], jobs=2))  # others can still be started


def test_tasks_are_taken_only_when_they_are_due():
    taken = []
    stream = on_processes(number, (taken.append(t) or t for t in TASKS), jobs=1)
    next(stream)
    assert len(taken) < len(TASKS)
    list(stream)
    assert len(taken) == len(TASKS)


# A parent of two workers that is killed when it has started a number of processes, before any of
# them works, or on request.
PARENT = """
import os, signal, sys, threading
from multiprocessing.process import BaseProcess
from ambilearn.experiments.run import on_processes

start, started = BaseProcess.start, []

def start_and_die(process):
    start(process)
    started.append(process)
    if len(started) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

BaseProcess.start = start_and_die

def tell_and_wait(task):
    print("at work", flush=True)
    threading.Event().wait()

list(on_processes(tell_and_wait, range(2), 2))
"""


@pytest.mark.heavy
@pytest.mark.skipif(os.name == "nt", reason="processes keep a parent's number on Windows")
@pytest.mark.parametrize("moment", [1, 2, "at work"])
def test_workers_end_with_a_killed_parent(moment):
    """Those of a parent that was killed before they could ask for its number stayed for minutes."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(moment).replace("at work", "0")],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        if moment == "at work":
            assert [parent.stdout.readline() for _ in range(2)] == ["at work\n"] * 2
            parent.kill()
        assert parent.wait() == -signal.SIGKILL
        # The output ends when the last process that could write to it has ended.
        reader = threading.Thread(target=parent.stdout.read, daemon=True)
        reader.start()
        reader.join(timeout=120)  # a worker looks every second, and the machine may be busy
        assert not reader.is_alive()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
