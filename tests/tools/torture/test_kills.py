"""Kills are seen for what they do."""

import os
import signal
import sys
import time

import pytest

if sys.platform == "win32":
    pytest.skip("the campaign forks and kills as Unix does", allow_module_level=True)

from torture import kills
from torture.commands import Ended, check_ended, fork, wait_for
from torture.kills import OLD, check_kill
from torture.oracle import Defect


def test_an_incomplete_file_is_a_defect(tmp_path):
    whole = b"new content"
    for content in (OLD, whole):
        (tmp_path / "out.csv").write_bytes(content)
        kills._check_output("clean", tmp_path, whole, allow_old=True)
    (tmp_path / "out.csv").write_bytes(whole[:4])
    with pytest.raises(Defect, match="destroyed"):
        kills._check_output("clean", tmp_path, whole, allow_old=True)
    (tmp_path / "out.csv").unlink()
    with pytest.raises(Defect, match="lost"):
        kills._check_output("clean", tmp_path, whole, allow_old=True)


def test_lost_and_repeated_results_are_detected():
    before = {"a": ("a", 1.0), "b": ("b", 2.0)}
    kills._check_results(before, before | {"c": ("c", 3.0)})
    with pytest.raises(Defect, match="lost"):
        kills._check_results(before, {"a": ("a", 1.0)})
    with pytest.raises(Defect, match="doubled"):
        kills._check_results(before, before | {"b": ("b", 2.5)})


def test_a_killed_child_is_detected(tmp_path):
    child = fork(lambda: time.sleep(100) or 0, tmp_path)
    os.kill(child, signal.SIGKILL)
    assert wait_for(child, tmp_path).status == -signal.SIGKILL


def test_a_child_that_does_not_end_is_a_hang(tmp_path):
    child = fork(lambda: time.sleep(100) or 0, tmp_path)
    with pytest.raises(Defect, match="hang"):
        wait_for(child, tmp_path, patience=0.1)


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        (Ended(1, err="Traceback (most recent call last):\nKeyError: 'a'"), "traceback"),
        (Ended(-signal.SIGSEGV), "crash"),
        (Ended(120, err="Exception ignored"), "wrong"),
        (Ended(1), "wrong"),
    ],
)
def test_a_command_that_crashes_is_detected(ended, kind):
    for right in (Ended(0), Ended(1, err="Error: no such file"), Ended(2, err="Usage: …")):
        check_ended(right)
    with pytest.raises(Defect) as caught:
        check_ended(ended)
    assert caught.value.kind == kind


@pytest.mark.heavy
@pytest.mark.parametrize("command", ["clean", "run"])
def test_after_a_kill_at_an_event_all_files_are_valid(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "case"
    folder.mkdir()
    case = {"command": command, "moment": "event", "share": 0.8, "done": 0}
    assert check_kill(case, folder) is False  # it was killed, and nothing was wrong
