"""Kills of runs: cases pass, and workers that stay are detected."""

import sys
import time
from types import SimpleNamespace

import pytest

if sys.platform == "win32":
    pytest.skip("the campaign forks and kills as Unix does", allow_module_level=True)

from torture import processes
from torture.oracle import Defect
from torture.processes import check_early_kill


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case").mkdir()
    return tmp_path / "case"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_workers_end_with_their_runner(seconds, folder):
    check_early_kill({"seconds": seconds, "done": 3}, folder)


# A runner with a worker that stays.
FORKS = """
import os, pathlib, time
if not os.fork():
    pathlib.Path("forked").touch()
time.sleep(1000)
"""


@pytest.mark.slow
def test_a_surviving_worker_is_detected(folder, monkeypatch):
    def wait_for_worker(seconds):
        while not (folder / "forked").exists():
            time.sleep(0.01)

    monkeypatch.setattr(processes, "_run", lambda *options: [sys.executable, "-c", FORKS])
    monkeypatch.setattr(processes, "PATIENCE", 0.1)
    monkeypatch.setattr(processes, "time", SimpleNamespace(sleep=wait_for_worker))
    with pytest.raises(Defect, match="hang: workers outlive their runner"):
        check_early_kill({"seconds": 1.0, "done": 0}, folder)
