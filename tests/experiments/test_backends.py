"""Processes of joblib and a real Dask cluster."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from alike import assert_alike
from prepared import WORKERS

from ambilearn.experiments.backends import on_cluster, on_processes
from ambilearn.experiments.run import run_tasks
from ambilearn.experiments.spec import parse_spec
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task

SPEC = """
title = "Both"
data = ["iris"]
methods = ["PL-CL", "SURE", "PL-AGGD", "LALO", "IPAL", "PLDA", "PL-KNN"]
runs = 1
[protocol]
rows = 60
[[candidates]]
group = "I"
title = "p"
vary = "p"
values = [0.7]
"""


def contents(store):
    return {k: [r.task, r.status, r.scores, r.details] for k, r in store.results().items()}


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    import dask

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with dask.config.set(WORKERS), distributed.LocalCluster(n_workers=2, **options) as cluster:
        yield cluster.scheduler_address


@pytest.mark.heavy
def test_dask_gives_the_same_store(cluster, tmp_path):
    tasks = list(parse_spec("both", SPEC).tasks())
    tasks.append(tasks[0].to(candidates={"p": 7.0}))  # a failure is the same, too
    with Store(tmp_path / "a.sqlite") as alone, Store(tmp_path / "b.sqlite") as dask:
        run_tasks(tasks, alone)
        summary = run_tasks(tasks, dask, cluster=cluster)
        assert (summary.done, summary.failed) == (7, 1)
        assert_alike(contents(alone), contents(dask))


@pytest.mark.heavy
def test_a_local_cluster_is_started_and_closed(tmp_path):
    pytest.importorskip("distributed")
    tasks = list(parse_spec("both", SPEC).tasks())[-2:]
    with Store(tmp_path / "r.sqlite") as store:
        assert run_tasks(tasks, store, cluster="local", jobs=1).done == 2


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


def test_one_job_needs_no_other_process():
    results = list(on_processes(number, TASKS, jobs=1))
    assert {r.details["process"] for r in results} == {os.getpid()}


def test_tasks_are_taken_only_when_they_are_due():
    taken = []
    stream = on_processes(number, (taken.append(t) or t for t in TASKS), jobs=1)
    next(stream)
    assert len(taken) < len(TASKS)
    list(stream)
    assert len(taken) == len(TASKS)


@pytest.mark.heavy
def test_every_task_is_executed_once_on_the_cluster(cluster):
    results = list(on_cluster(number, iter(TASKS), cluster, jobs=1))
    assert sorted(r.details["run"] for r in results) == list(range(9))
    assert os.getpid() not in {r.details["process"] for r in results}


@pytest.mark.heavy
def test_dead_worker_fails_only_its_task():
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set(WORKERS | {"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
    ):
        results = list(on_cluster(die_on_three, TASKS[2:5], cluster.scheduler_address, jobs=1))
    lost = {r.key for r in results if r.status == "failed"}
    assert TASKS[3].key in lost  # and possibly one that waited on the same worker
    assert len(results) == 3
    assert "KilledWorker" in next(r.error for r in results if r.key == TASKS[3].key)


def test_error_without_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'ambilearn\[dask\]'"):
        list(on_cluster(number, TASKS, "local", jobs=1))


SCHEDULER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, **options) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler with one worker in processes of their own: the process, and its address."""
    pytest.importorskip("distributed")
    (tmp_path / "scheduler.py").write_text(SCHEDULER)
    child = subprocess.Popen(
        [sys.executable, str(tmp_path / "scheduler.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with child:
        yield child, child.stdout.readline().strip()
        child.kill()


@pytest.mark.heavy
def test_a_lost_scheduler_is_reported(scheduler, caplog):
    """distributed's own error was shown as a mistake of ambilearn."""
    import dask

    process, address = scheduler
    results = []

    def kill_after_the_second():
        for task in TASKS:
            yield task
            if len(results) == 2:
                process.kill()
                process.wait()

    def run():
        for result in on_cluster(number, kill_after_the_second(), address, jobs=1):
            results.append(result)

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),  # to give up soon
        pytest.raises(ConnectionError, match=f"the Dask scheduler at '{address}' was lost"),
    ):
        run()
    assert len(results) >= 2
    assert "Traceback" not in caplog.text


@pytest.mark.heavy
def test_other_errors_are_not_reported_as_a_lost_scheduler(cluster):
    def fail():
        yield TASKS[0]
        raise OSError("the store is full")

    with pytest.raises(OSError, match="the store is full"):
        list(on_cluster(number, fail(), cluster, jobs=1))


@pytest.mark.heavy
def test_a_local_cluster_is_not_open_to_the_network():
    pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")  # which distributed needs
    listening = []

    def look_around():
        here = psutil.Process()
        for process in [here, *here.children(recursive=True)]:
            for each in process.net_connections(kind="inet"):
                if each.status == psutil.CONN_LISTEN:
                    listening.append(each.laddr)
        yield TASKS[0]

    assert len(list(on_cluster(number, look_around(), "local", jobs=1))) == 1
    assert len(listening) >= 2  # the scheduler and its dashboard, at least
    assert {address.ip for address in listening} <= {"127.0.0.1", "::1"}


# A parent of two workers that is killed when it has started a number of processes, before any of
# them works, or on request.
PARENT = """
import os, signal, sys, threading
from multiprocessing.process import BaseProcess
from ambilearn.experiments.backends import on_processes

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
