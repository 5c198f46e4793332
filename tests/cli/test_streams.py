"""Standard streams that are closed, full or broken, in separate processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from people import make_people

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")

CLEAN = "clean people.csv --candidates names --method plknn --fast"


@pytest.fixture
def command(process, tmp_path):
    """Function that runs a command with other streams: exit status, output, errors."""
    make_people().to_csv(tmp_path / "people.csv", index=False)

    def command(line, **streams):
        status, out, errors = process(*line.split(), **streams)
        for sign in (b"Traceback", b"Exception ignored"):
            assert sign not in errors
        return status, out.decode(), errors.decode()

    return command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "streams", "message"),
    [
        (CLEAN, {"stdout": None}, "Standard output is closed. Use --out FILE."),
        (
            "clean - --candidates names --method plknn",
            {"stdin": None},
            "Standard input is closed. Use a file.",
        ),
        pytest.param(CLEAN, {"stdout": "/dev/full"}, "No space left on device. Free", marks=full),
    ],
)
def test_a_required_closed_stream_is_named(command, line, streams, message):
    status, _, errors = command(line, **streams)
    assert status == 1
    assert errors.splitlines()[-1].startswith(f"Error: {message}")


@full
@pytest.mark.slow
@pytest.mark.parametrize("line", ["data list", "--help", "data --help"])
def test_a_full_output_stream_is_reported(line):
    status, _, errors = shell(f"{line} >/dev/full")
    assert status == 1
    assert errors.splitlines()[-1].startswith("Error: No space left on device. Free")


@pytest.mark.slow
@pytest.mark.parametrize(
    "streams",
    [
        {"stdout": None},
        {"stdin": None},
        {"stderr": None},
        {"stdout": None, "stdin": None, "stderr": None},
    ],
)
def test_an_unused_closed_stream_is_ignored(command, tmp_path, streams):
    expected = 0, make_people().shape[0] + 1
    status, _, _ = command(f"{CLEAN} --out cleaned.csv", **streams)
    assert (status, len((tmp_path / "cleaned.csv").read_text("utf-8").splitlines())) == expected


@pytest.mark.slow
def test_without_standard_error_the_exit_status_is_the_same(command):
    status, out, _ = command(CLEAN, stderr=None)
    assert (status, len(out.splitlines())) == (0, 61)
    assert command("clean nowhere.csv --candidates names", stderr=None)[:2] == (1, "")
    assert shell("clean people.csv --nonsense 2>&-")[:2] == (2, "")


@pytest.mark.slow
def test_a_closed_pipe_ends_the_command_silently():
    _, out, errors = shell("data list 2>&1 | head -n 1")
    assert out.split()[0] == "name"
    assert errors == ""


def shell(line):
    """Run a command that needs few libraries as a shell does: exit status, output, errors."""
    ran = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m ambilearn {line}"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    for sign in ("Traceback", "Exception ignored"):
        assert sign not in ran.stderr
    return ran.returncode, ran.stdout, ran.stderr


PREPARED = """
import os, sys
from ambilearn.__main__ import replace_closed_streams
replace_closed_streams()
with open(sys.argv[1], "w") as file:
    number = file.fileno()
    os.write(2, b"a message of some library") if sys.argv[2] == "open" else None
    print("kept", file=sys.stderr)
sys.exit(number <= 2)
"""


@pytest.mark.parametrize("streams", ["", ">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_no_file_gets_the_descriptor_of_a_closed_stream(tmp_path, streams):
    target, state = tmp_path / "table.csv", "closed" if "2>" in streams else "open"
    line = f'exec "$0" -c "$1" "$2" {state} {streams}'
    ran = subprocess.run(["sh", "-c", line, sys.executable, PREPARED, target], capture_output=True)
    assert ran.returncode == 0
    assert target.read_bytes() == b""
    assert ran.stderr.endswith(b"" if state == "closed" else b"kept\n")


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
