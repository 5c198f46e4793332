import io

import pytest
from rich.console import Console as RichConsole

from ambilearn.cli.console import Console
from ambilearn.cli.reproduce_summary import (
    describe_failures,
    describe_missing_data,
    describe_other_code,
    describe_plan,
)
from ambilearn.experiments.environment import environment
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task
from ambilearn.experiments.time_left import TimeLeft

TASKS = [Task("iris", "PLKNN", run) for run in range(3)]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        yield store


@pytest.fixture
def said():
    def said(describe, *arguments):
        stream = io.StringIO()
        describe(Console(rich=RichConsole(file=stream)), *arguments)
        return stream.getvalue()

    return said


def ended(task, status="done", error="", seconds=60.0):
    return Result(task.key, task.definition, status, error=error, seconds=seconds)


def test_missing_data_and_the_download_command(said):
    assert said(describe_missing_data, ["lost", "birdsong"]).splitlines() == [
        f"{name} is not on this machine and is skipped. Download it with: ambilearn data fetch "
        f"{name}"
        for name in ("lost", "birdsong")
    ]
    assert said(describe_missing_data, []) == ""


def test_results_of_other_code_are_counted(said, store):
    store.save(ended(TASKS[0]), environment())
    assert said(describe_other_code, store) == ""
    for task in TASKS[1:]:
        store.save(ended(task), environment() | {"commit": "another"})
    text = said(describe_other_code, store)
    assert text.startswith("2 results in the store were measured with another version of the code")
    assert "--again" in text


def test_the_plan_has_tasks_results_and_time(said, store):
    left = TimeLeft(TASKS, store, jobs=1)
    assert said(describe_plan, store, TASKS + TASKS, TASKS, left) == (
        f"3 tasks, 0 of them already in {store.path}; 3 to do\n"
    )
    store.save(ended(TASKS[0]), environment())
    left = TimeLeft(TASKS[1:], store, jobs=1)
    assert said(describe_plan, store, TASKS, TASKS[1:], left) == (
        f"3 tasks, 1 of them already in {store.path}; 2 to do, in about 2 min 00 s\n"
    )
    left = TimeLeft([], store, jobs=1)
    assert said(describe_plan, store, TASKS, [], left).endswith("; 0 to do\n")


def test_each_kind_of_failure_once(said, store):
    for task in TASKS[:2]:
        store.save(ended(task, "failed", "Traceback …\nValueError: [p] is wrong\n"), environment())
    store.save(ended(TASKS[2]), environment())
    assert said(describe_failures, store, TASKS) in {
        f"  PLKNN on iris, run {run}: ValueError: [p] is wrong\n" for run in (0, 1)
    }
    assert said(describe_failures, store, TASKS[2:]) == ""
