"""Claims: a task has one runner at a time, even if a runner is killed."""

import os
import socket
import subprocess
import sys
import time
from threading import Thread

import pytest

from ambilearn.experiments import claims as claims_module
from ambilearn.experiments.claims import LEASE, Claim, Claims
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task

TASK = Task("iris", "PLKNN", 0, candidates={"p": 0.5})
HOST = socket.gethostname()
DONE = Result(TASK.key, TASK.definition, "done", {"accuracy": 0.9}, {}, "", 1.0)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        yield store


@pytest.fixture
def second_store(store):
    with Store(store.path) as second:
        yield second


@pytest.fixture
def ours(store):
    with Claims(store) as claims:
        yield claims


@pytest.fixture
def others(second_store):
    with Claims(second_store) as claims:
        yield claims


def rows(store):
    with store.transaction() as connection:
        return connection.execute("SELECT key, runner, expires FROM claims").fetchall()


def write_claim(store, runner, expires=None):
    row = (TASK.key, runner, time.time() + LEASE if expires is None else expires)
    with store.transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", row)


def test_a_task_has_one_runner(ours, others):
    assert ours.take(TASK.key) is Claim.OURS
    assert others.take(TASK.key) is Claim.OTHERS
    assert others.is_taken(TASK.key)
    assert not ours.is_taken(TASK.key)
    assert ours.take(TASK.key) is Claim.OURS  # still
    assert others.take("another task") is Claim.OURS


def test_a_claim_ends_with_the_result(store, ours, others):
    ours.take(TASK.key)
    store.save(DONE, {})
    assert rows(store) == []
    assert others.take(TASK.key) is Claim.SETTLED
    assert not others.is_taken(TASK.key)


def test_a_failure_completes_a_task(store, ours, others):
    ours.take(TASK.key)
    store.save(Result(TASK.key, TASK.definition, "failed", error="nope"), {})
    assert others.take(TASK.key) is Claim.SETTLED


def test_existing_files_are_overwritten(store):
    """The caller decides which tasks are repeated."""
    store.save(DONE, {})
    with Claims(store) as later:
        assert later.take(TASK.key) is Claim.OURS


def test_a_claim_ends_with_its_runner(second_store, ours):
    with Claims(second_store) as others:
        others.take(TASK.key)
        assert ours.is_taken(TASK.key)
    assert not ours.is_taken(TASK.key)
    assert ours.take(TASK.key) is Claim.OURS


KILLED = """
import os, sys
from ambilearn.experiments.claims import Claims
from ambilearn.experiments.store import Store
with Store(sys.argv[1]) as store, Claims(store) as claims:
    print(claims.take(sys.argv[2]).name, flush=True)
    sys.stdin.read()
    os._exit(1)  # as a kill: nothing is tidied up
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there the lease alone tells")
def test_claims_of_a_killed_process_expire_immediately(store, ours):
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store.path), TASK.key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "OURS\n"
    assert ours.take(TASK.key) is Claim.OTHERS
    child.communicate("")
    assert len(rows(store)) == 1
    assert ours.take(TASK.key) is Claim.OURS


def test_lease_expires_without_renewal(store, ours):
    write_claim(store, "elsewhere 17 x", expires=time.time() - 0.1)
    assert ours.take(TASK.key) is Claim.OURS


def test_runner_on_another_machine_ends_with_its_lease(store, ours):
    write_claim(store, f"not-{HOST} {os.getpid()} x")
    assert ours.take(TASK.key) is Claim.OTHERS


def test_process_ids_can_be_reused(store, ours):
    """In a container that is started again, processes have the numbers of the last time."""
    write_claim(store, f"{HOST} {os.getpid()} x")
    assert ours.take(TASK.key) is (Claim.OTHERS if os.name == "nt" else Claim.OURS)


@pytest.mark.parametrize(
    ("runner", "expires"),
    [
        ("", None),
        ("one two", None),
        (f"{HOST} {10**30} x", None),
        ("a 1 x", "soon"),
    ],
)
def test_damaged_claims_are_ignored(store, ours, runner, expires):
    if os.name == "nt" and "x" in runner:
        pytest.skip("processes are not asked there")
    write_claim(store, runner, expires)
    assert ours.take(TASK.key) is Claim.OURS


def test_a_claim_dated_in_the_future_is_void_if_it_is_not_renewed(store, ours, monkeypatch):
    """A run waited for it without a message."""
    write_claim(store, "elsewhere 17 x", expires=time.time() + 1e9)
    assert ours.take(TASK.key) is Claim.OTHERS
    monkeypatch.setattr(claims_module, "LEASE", 0.05)
    monkeypatch.setattr(claims_module, "POLL", 0.01)
    said = []
    waiting = Thread(target=ours.wait_for_others, args=([TASK.key], said.append), daemon=True)
    waiting.start()
    waiting.join(timeout=60)
    assert not waiting.is_alive()
    assert ours.take(TASK.key) is Claim.OURS


def test_renewed_claim_with_a_wrong_clock_is_valid(store, ours, monkeypatch):
    for now in (0.0, 0.9 * LEASE, 1.8 * LEASE):
        write_claim(store, "elsewhere 17 x", expires=time.time() + 3600 + now)
        monkeypatch.setattr(time, "monotonic", lambda now=now: now)
        assert ours.take(TASK.key) is Claim.OTHERS
    monkeypatch.setattr(time, "monotonic", lambda: 2.9 * LEASE)
    assert ours.take(TASK.key) is Claim.OURS


def test_wait_message_is_reported_once_per_runner(store, ours, monkeypatch):
    said = []
    monkeypatch.setattr(claims_module, "POLL", 0.0)
    monkeypatch.setattr(ours, "is_taken", lambda key: False)  # the wait is over at once
    for runner in ("here", "here", "there"):
        write_claim(store, f"{runner}-not-{HOST} 17 x")
        ours.wait_for_others([TASK.key], said.append)
    assert said == [
        f"waiting for process 17 on {runner}-not-{HOST}, running 1 task"
        for runner in ("here", "there")
    ]
    ours.wait_for_others([TASK.key, "free"], said.append)
    assert len(said) == 2


def test_claims_are_renewed(store, monkeypatch):
    monkeypatch.setattr(claims_module, "LEASE", 0.2)
    with Claims(store) as ours:
        ours.take(TASK.key)
        ((_, _, first),) = rows(store)
        deadline = time.monotonic() + 60
        while rows(store)[0][2] == first and time.monotonic() < deadline:
            time.sleep(0.01)
        assert rows(store)[0][2] > first
    assert rows(store) == []


def test_waiting_ends_when_one_task_is_free(ours, others, monkeypatch):
    monkeypatch.setattr(claims_module, "POLL", 0.0)
    ours.wait_for_others([])
    others.take("a")
    ours.wait_for_others(["a", "nobody's"])
    looks = iter([True, True, False])
    monkeypatch.setattr(ours, "is_taken", lambda key: next(looks))
    ours.wait_for_others(["a"])
    assert next(looks, None) is None
