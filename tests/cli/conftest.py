"""The command line as a user runs it, in a separate folder and environment."""

import os
import signal
import socket
from multiprocessing.connection import wait

import numpy as np
import pandas as pd
import prepared
import pytest
from click.testing import CliRunner

from ambilearn.cli.console import Console, user_console
from ambilearn.cli.main import main
from ambilearn.tables import read_candidate_table

# Settings of the developer that change the output or which files are found.
SETTINGS = (
    "AMBILEARN_DATA",
    "FORCE_COLOR",
    "NO_COLOR",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
    "LINES",
)

SPEC = """
title = "Mine"
data = ["iris", "lost"]
methods = ["PL-CL", "PL-KNN"]
runs = 2
[protocol]
rows = 40
[quick]
runs = 1
rows = 30
[[candidates]]
group = "I"
title = "p varies"
vary = "p"
values = [0.5]
[[show]]
kind = "table"
name = "mine"
title = "Mine"
metric = "accuracy"
[[show]]
kind = "curves"
name = "mine-curves"
title = "Mine"
metric = "accuracy"
"""


@pytest.fixture(autouse=True)
def private_machine(tmp_path, monkeypatch):
    """A separate folder and cache, an ordinary terminal, no data files, no network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    settings = {"COLUMNS": "80", "TERM": "xterm-256color", "NO_PROXY": "*"}
    settings["AMBILEARN_DEBUG"] = "1"  # an unexpected error fails the test
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with socket.socket() as silent:  # a port in use on which nothing listens
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AMBILEARN_MIRROR", f"http://127.0.0.1:{silent.getsockname()[1]}")
        yield


class Run:
    """Runs a command in this process: exit status, output, errors."""

    def __call__(self, *arguments, input=None):
        result = CliRunner().invoke(main, [str(a) for a in arguments], input=input)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception  # what would be a traceback
        return result.exit_code, result.stdout, result.stderr

    def succeeds(self, *arguments, **options):
        """Output and errors of a command that must succeed."""
        status, out, err = self(*arguments, **options)
        assert status == 0, err
        return out, err

    def fails(self, *arguments, status=1, **options):
        """Errors of a command that must fail."""
        found, _, err = self(*arguments, **options)
        assert found == status, err
        return err


@pytest.fixture
def run():
    return Run()


@pytest.fixture
def process():
    """Function that runs a command in a new process: exit status, output, errors, as bytes."""
    return prepared.run


@pytest.fixture
def terminal():
    """Function that runs a command in a real (pseudo) terminal: exit status and screen."""
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals, which Windows has not")

    def terminal(*arguments):
        ours, theirs = pty.openpty()
        name = os.ttyname(theirs)
        child = prepared.start(arguments, {"stdin": os.devnull, "stdout": name, "stderr": name})
        chunks = []
        while ours in wait([ours, child.sentinel]):
            chunks.append(os.read(ours, 4096))
        os.close(theirs)
        os.close(ours)
        return child.exitcode, b"".join(chunks).decode()

    return terminal


@pytest.fixture
def spec(tmp_path):
    """A small experiment, in the file mine.toml."""
    (tmp_path / "mine.toml").write_text(SPEC)
    return SPEC


@pytest.fixture
def measured(spec, run):
    """Output of the run of the small experiment."""
    return run.succeeds("paper", "run", "mine.toml", "--jobs", 1)[0]


@pytest.fixture
def table(people_csv):
    """The table of people, read as the commands read it."""
    return read_candidate_table(people_csv, candidates="names", truth="truth")


@pytest.fixture
def said(capsys):
    """Function (describe, *arguments) → what it prints on the console."""

    def said(function, *arguments):
        with user_console() as console:
            function(console, *arguments)
        return capsys.readouterr().err

    return said


@pytest.fixture
def ctrl_c_after_the_fit(monkeypatch):
    """Press Ctrl-C when the held-out outputs are computed."""
    show = Console.stage

    def press(console, text):
        show(console, text)
        if text.startswith("predicting every row"):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Console, "stage", press)


@pytest.fixture
def wrong_labels(tmp_path):
    """A table with one label per row, of which one in eight is wrong, and its true labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    given = np.where(rng.random(80) < 1 / 8, 1 - y, y)
    names = np.array(["no", "yes"])
    x = (4 * y + rng.normal(size=80)).round(4)
    frame = pd.DataFrame({"x": x, "said": names[given], "truth": names[y]})
    frame.to_csv("said.csv", index=False)
    return frame


@pytest.fixture
def groups(tmp_path):
    """A file with twenty rows of two groups, and false candidates."""
    lines = ["size,town,names"]
    for i in range(20):
        own, other = ("anna", "bob") if i % 2 else ("bob", "anna")
        names = {0: own, 1: f"{own}|{other}", 2: f"{other}|{own}|cleo"}[i % 3]
        lines.append(f"{i % 2 * 5 + i / 20},{['Rome', 'Oslo'][i % 2]},{names}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
