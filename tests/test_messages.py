"""The errors and warnings read as a set: each says what is wrong, where, and what to do.

Every case is a mistake that a user makes, and the words that the message must have: what (and
where) first, the remedy last.
"""

import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ambilearn import as_candidates, metrics
from ambilearn.cli.main import main
from ambilearn.tables import read_candidate_table

SETS = [{"a", "b"}, {"a"}, {"b"}, {"a", "b"}, {"b"}, {"a"}]
MASK = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [0, 1], [1, 0]])
CLASSES = ["a", "b"]


def table(text, **options):
    return read_candidate_table(StringIO(text), format="csv", **{"candidates": "names"} | options)


CANDIDATES = {
    "unknown column": (
        lambda: as_candidates(pd.DataFrame(MASK, columns=CLASSES), classes=["a", "c"]),
        "column 'b' that is not among the 2",
        "rename or drop",
    ),
    "too few names": (lambda: as_candidates(MASK, classes=["a"]), "2 columns but", "one class per"),
}
DATA = {
    "no such column": (lambda: table("x,name\n1,a\n"), "no column 'names'", "Did you mean 'name'"),
    "no feature": (
        lambda: read_candidate_table(pd.DataFrame({"x": [{}], "c": ["a"]}), candidates="c"),
        "column 'x', row 0: {} is a dict",
        "exclude the column",
    ),
    "two truths": (
        lambda: read_candidate_table(
            pd.DataFrame({"x": [1, 2], "c": ["a", "b"], "t": [["a", "b"], "b"]}),
            candidates="c",
            truth="t",
        ),
        "row 0: expected one label",
        "Leave the cell empty",
    ),
}

SCORES = {
    "covering": (lambda: metrics.covering_rate(SETS, ["a"]), "6 candidate sets but 1", "pass one"),
    "shape": (
        lambda: metrics.approximated_accuracy(SETS, MASK[:, :1]),
        r"It has \(6, 1\)",
        r"shape \(6, 2\)",
    ),
}

SPEC = 'title = "t"\ndata = ["iris"]\nmethods = ["PL-CL"]\n'

CASES = [
    pytest.param(*case, id=f"{topic}: {name}")
    for topic, cases in {
        "candidates": CANDIDATES,
        "data": DATA,
        "scores": SCORES,
    }.items()
    for name, case in cases.items()
]


@pytest.mark.parametrize(("mistake", "what", "remedy"), CASES)
def test_an_error_says_what_where_and_what_to_do(mistake, what, remedy):
    with pytest.raises((ValueError, OSError), match=what) as caught:
        mistake()
    assert re.search(remedy, str(caught.value))


COMMANDS = {
    "unknown method": (
        ["paper", "run", "demo", "--methods", "x"],
        "no method 'x'",
        "The methods are",
    ),
    "unknown data": (["paper", "run", "--data", "irs"], "no data set 'irs'", "Did you mean 'iris'"),
    "no store": (["paper", "report", "--store", "a.sqlite"], "no result store a.sqlite", "--store"),
    "store below a file": (
        ["paper", "run", "demo", "--quick", "--store", "notes.txt/x.sqlite"],
        "notes.txt",
        "",
    ),
    "data to fetch": (["data", "fetch"], "Name at least one data set", "data list"),
    "no data": (
        ["paper", "run", "real-world", "--jobs", "1"],
        "None of the data sets",
        "paper run demo",
    ),
    "no UTF-8": (["paper", "run", "binary.toml"], "binary.toml is not UTF-8", "save it as UTF-8"),
    "data of a file": (
        ["paper", "run", "other.toml"],
        "no data set 'nowhere'",
        "The data sets are",
    ),
    "folder as file": (["paper", "report", "--out", "."], "'.' is a directory", "for help"),
}


@pytest.mark.parametrize(("arguments", "what", "remedy"), COMMANDS.values(), ids=COMMANDS)
def test_the_command_line_ends_in_one_line(arguments, what, remedy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("AMBILEARN_DATA", raising=False)
    (tmp_path / "notes.txt").write_text("Not a database. " * 100)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "other.toml").write_text(SPEC.replace("iris", "nowhere"))
    done = CliRunner().invoke(main, arguments)
    assert isinstance(done.exception, SystemExit)  # anything else is a traceback
    assert done.exit_code in (1, 2)
    assert what in done.stderr
    assert remedy in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert errors == done.stderr.splitlines()[-1:]


def test_errors_of_the_system_name_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").write_text("a file where the folder should be")
    done = CliRunner().invoke(main, ["paper", "run", "demo", "--quick", "--jobs", "1"])
    assert done.exit_code == 1
    assert re.fullmatch(r"Error: out: .+\.\n", done.stderr)
