"""Messages of expected and of unexpected errors."""

import errno
import os
import subprocess
import sys

import pytest
from people import make_people

from ambilearn import __version__
from ambilearn.cli.console import EXPECTED, describe_error
from ambilearn.datasets.errors import DatasetError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DatasetError("iris is damaged."), "iris is damaged."),
        (ImportError("rich is missing."), "rich is missing."),
        (OSError("a message of its own."), "a message of its own."),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "t.csv"),
            "t.csv: No such file or directory.",
        ),
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied."),
    ],
)
def test_what_the_user_can_mend_is_said_as_it_is(error, message):
    assert isinstance(error, EXPECTED)
    assert describe_error(error) == message


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_where_there_is_no_room_one_can_make_some(code):
    text = describe_error(OSError(code, os.strerror(code), "out.csv"))
    assert text == f"out.csv: {os.strerror(code)}. Free some disk space, or write to another disk."


def test_memory_is_named():
    assert describe_error(MemoryError()).startswith("There is not enough memory")


@pytest.mark.parametrize("error", [KeyError("x"), ZeroDivisionError("a\n  b"), RecursionError()])
def test_an_unexpected_error_explains_how_to_report_it(error):
    assert not isinstance(error, EXPECTED)
    first, second = describe_error(error).splitlines()
    assert first.startswith(f"unexpected {type(error).__name__}: ")
    assert f"ambilearn {__version__}" in second
    assert "report it with your command and its output when AMBILEARN_DEBUG=1 is set" in second


# ---- a limit of file sizes: a full disk that every user can have


@pytest.fixture
def limited(process, tmp_path):
    """Function that runs a command whose files have at most so many bytes: status, errors."""
    pytest.importorskip("resource", reason="needs limits of resources, which Windows has not")
    make_people().to_csv(tmp_path / "people.csv", index=False)

    def limited(n_bytes, *arguments):
        status, _, errors = process(*arguments, file_size=n_bytes)
        assert b"Traceback" not in errors
        return status, " ".join(errors.decode().split())

    return limited


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "clean people.csv --candidates names --method plknn --fast --out o.csv",
        "clean people.csv --candidates names --method plknn --fast --out o.parquet",
        "fit people.csv --candidates names --method plknn --out people.model",
        "review people.csv --candidates names --method plknn --fast --out review.html",
    ],
)
def test_a_file_that_may_not_grow_leaves_nothing_behind(limited, tmp_path, line):
    if line.endswith("parquet"):
        pytest.importorskip("pyarrow")
    status, errors = limited(1000, *line.split())
    assert status == 1
    assert "File too large" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to this limit")
@pytest.mark.parametrize("command", ["clean t.csv --candidates c", "paper run demo --quick"])
def test_a_limit_of_memory_that_is_too_low_is_one_message(command):
    line = f"ulimit -v 500000 && exec {sys.executable} -m ambilearn {command}"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "Error: The memory of a process is limited to 488 MB, and 1024 MB are needed. Raise "
        "the limit (`ulimit -v`).\n"
    )
