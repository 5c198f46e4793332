import io

import pytest
from rich.console import Console

from ambilearn.cli.progress import ProgressBar, TimeLeft, duration
from ambilearn.experiments.execute import Result
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Task

SLOW = [Task("digits", "PLCL", run) for run in range(4)]
FAST = [Task("iris", "PLKNN", run) for run in range(4)]


def ended(task, seconds, status="done"):
    return Result(task.key, task.definition, status, seconds=seconds)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        yield store


def test_nothing_is_known_before_the_first_result(store):
    left = TimeLeft(SLOW, store, jobs=1)
    assert left.seconds() is None


def test_kinds_of_tasks_have_their_own_times(store):
    left = TimeLeft(SLOW + FAST, store, jobs=1)
    left.note(ended(FAST[0], 1.0))
    left.note(ended(SLOW[0], 99.0))
    left.note(ended(SLOW[1], 101.0))
    assert left.seconds() == pytest.approx(3 * 1.0 + 2 * 100.0)


def test_unknown_kinds_take_the_mean_of_the_known(store):
    left = TimeLeft(SLOW + FAST, store, jobs=1)
    left.note(ended(FAST[0], 2.0))
    assert left.seconds() == pytest.approx(3 * 2.0 + 4 * 2.0)


def test_earlier_runs_and_several_jobs_count(store):
    store.save(ended(SLOW[0], 10.0), {})
    left = TimeLeft(SLOW[1:], store, jobs=2)
    assert left.seconds() == pytest.approx(3 * 10.0 / 2)


def test_all_done_leaves_nothing(store):
    left = TimeLeft(FAST, store, jobs=1)
    for task in FAST:
        left.note(ended(task, 5.0))
    assert left.seconds() == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min 00 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (None, "?")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def run_bar(store, terminal, results):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    with ProgressBar(console, len(results), TimeLeft(FAST, store, 1)) as bar:
        for result in results:
            bar.note(result)
    return console.file.getvalue()


def test_a_terminal_gets_a_bar(store):
    text = run_bar(store, True, [ended(task, 1.0) for task in FAST])
    assert "━" in text
    assert "4/4" in text
    assert "about 0 s left" in text


def test_a_log_gets_lines_and_failures_are_counted(store):
    results = [ended(FAST[0], 1.0, "failed"), *(ended(task, 1.0) for task in FAST[1:])]
    text = run_bar(store, False, results)
    assert text == "4/4 tasks, about 0 s left, 1 failed\n"
