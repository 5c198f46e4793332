"""Bars on a terminal that keeps what was drawn, and in a log file."""

import io
import math

import pytest
from rich.console import Console as RichConsole

from ambilearn.cli.console import Console
from ambilearn.cli.progress import DownloadBar, TaskBar
from ambilearn.experiments.run import TimeLeft
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task

TASKS = [Task("iris", "PLKNN", run) for run in range(4)]


def ended(task, status="done"):
    return Result(task.key, task.definition, status, seconds=1.0)


def make_console(terminal):
    rich = RichConsole(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None)
    return Console(rich=rich)


def written(console):
    return console.rich.file.getvalue()


@pytest.fixture
def time_left(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        yield TimeLeft(TASKS, store, 1)


def test_a_terminal_shows_every_task_as_it_ends(time_left):
    console = make_console(terminal=True)
    with TaskBar(console, 4, time_left) as bar:
        for n_done, task in enumerate(TASKS, start=1):
            assert f"{n_done}/4" not in written(console)
            bar.note(ended(task))
            assert f"{n_done}/4" in written(console)
            assert f"about {4 - n_done} s left" in written(console)
    assert "━" in written(console)
    assert "tasks," not in written(console)


def test_a_log_gets_the_last_line_and_failures_are_counted(time_left):
    console = make_console(terminal=False)
    with TaskBar(console, 4, time_left, every=math.inf) as bar:
        bar.note(ended(TASKS[0], "failed"))
        for task in TASKS[1:]:
            bar.note(ended(task))
    assert written(console) == "4/4 tasks, about 0 s left, 1 failed\n"


def test_a_log_gets_lines_at_intervals(time_left):
    console = make_console(terminal=False)
    with TaskBar(console, 4, time_left, every=0) as bar:
        for task in TASKS:
            bar.note(ended(task))
    lines = [f"{n}/4 tasks, about {4 - n} s left" for n in (1, 2, 3, 4)]
    assert written(console).splitlines() == lines


def test_a_download_is_shown_as_pooch_reports_it():
    """pooch sets the total, counts the bytes, and fills the bar once more in the end."""
    console = make_console(terminal=True)
    with DownloadBar(console, "lost") as bar:
        bar.total = 4000
        assert written(console) == ""
        bar.update(1000)
        assert "lost" in written(console)
        bar.update(3000)
        bar.reset()
        bar.update(4000)
        bar.close()
    assert "━" in written(console)
    assert "4.0/4.0 kB" in written(console)


def test_a_download_of_unknown_size():
    console = make_console(terminal=True)
    with DownloadBar(console, "lost") as bar:
        bar.update(1000)
    assert "1.0/? kB" in written(console)


def test_nothing_to_download_shows_nothing():
    console = make_console(terminal=True)
    with DownloadBar(console, "lost") as bar:
        bar.reset()
        bar.close()
    assert written(console) == ""


def test_a_log_file_has_no_bar_of_a_download():
    console = make_console(terminal=False)
    with DownloadBar(console, "lost") as bar:
        bar.total = 10
        bar.update(10)
    assert written(console) == ""
