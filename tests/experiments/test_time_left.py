import pytest

from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task
from ambilearn.experiments.time_left import TimeLeft

SLOW = [Task("digits", "PLCL", run) for run in range(4)]
FAST = [Task("iris", "PLKNN", run) for run in range(4)]


def ended(task, seconds):
    return Result(task.key, task.definition, "done", seconds=seconds)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        yield store


def test_the_time_is_unknown_before_the_first_result(store):
    left = TimeLeft(SLOW, store, jobs=1)
    assert left.seconds() is None


def test_each_kind_of_task_has_its_own_time(store):
    left = TimeLeft(SLOW + FAST, store, jobs=1)
    left.note(ended(FAST[0], 1.0))
    left.note(ended(SLOW[0], 99.0))
    left.note(ended(SLOW[1], 101.0))
    assert left.seconds() == pytest.approx(3 * 1.0 + 2 * 100.0)


def test_unknown_kinds_have_the_mean_time(store):
    left = TimeLeft(SLOW + FAST, store, jobs=1)
    left.note(ended(FAST[0], 2.0))
    assert left.seconds() == pytest.approx(3 * 2.0 + 4 * 2.0)


def test_earlier_runs_and_several_jobs_count(store):
    store.save(ended(SLOW[0], 10.0), {})
    left = TimeLeft(SLOW[1:], store, jobs=2)
    assert left.seconds() == pytest.approx(3 * 10.0 / 2)


def test_no_tasks_are_missing_when_all_are_done(store):
    left = TimeLeft(FAST, store, jobs=1)
    for task in FAST:
        left.note(ended(task, 5.0))
    assert left.seconds() == 0
