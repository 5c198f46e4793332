"""Standard streams that are closed, full or broken: in processes of their own, as a shell does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from people import make_people

from ambilearn.cli.streams import standard_input, standard_output

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")

CLEAN = "clean people.csv --candidates names --method plknn --no-doubt"


@pytest.fixture
def shell(tmp_path):
    """Function that runs a command with redirections: exit status, output, errors."""
    make_people().to_csv(tmp_path / "people.csv", index=False)
    here = {"AMBILEARN": f"{sys.executable} -m ambilearn", "OMP_NUM_THREADS": "1"}

    def shell(line):
        ran = subprocess.run(
            ["sh", "-c", f"$AMBILEARN {line}"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            env=os.environ | here | {"PYTHONIOENCODING": "utf-8"},
        )
        for sign in ("Traceback", "Exception ignored"):
            assert sign not in ran.stderr
        return ran.returncode, ran.stdout, ran.stderr

    return shell


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{CLEAN} >&-", "Standard output is closed. Use --out FILE."),
        (
            "clean - --candidates names --method plknn <&-",
            "Standard input is closed. Use a file.",
        ),
        pytest.param(f"{CLEAN} >/dev/full", "No space left on device. Free", marks=full),
        pytest.param("data list >/dev/full", "No space left on device. Free", marks=full),
        pytest.param("--help >/dev/full", "No space left on device. Free", marks=full),
        pytest.param("data --help >/dev/full", "No space left on device. Free", marks=full),
    ],
)
def test_an_output_or_input_that_is_needed_is_named(shell, line, message):
    status, _, errors = shell(line)
    assert status == 1
    assert errors.splitlines()[-1].startswith(f"Error: {message}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "streams", [">&-", "<&-", "2>&-", ">&- <&- 2>&-", pytest.param("2>/dev/full", marks=full)]
)
def test_a_stream_that_is_not_needed_is_no_obstacle(shell, tmp_path, streams):
    expected = 0, make_people().shape[0] + 1
    status, _, _ = shell(f"{CLEAN} --out cleaned.csv {streams}")
    assert (status, len((tmp_path / "cleaned.csv").read_text("utf-8").splitlines())) == expected


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["2>&-", pytest.param("2>/dev/full", marks=full)])
def test_messages_that_cannot_be_written_are_lost_and_the_exit_status_stays(shell, streams):
    status, out, _ = shell(f"{CLEAN} {streams}")
    assert status == 0
    assert len(out.splitlines()) == 61
    assert shell(f"clean nowhere.csv --candidates names {streams}")[:2] == (1, "")
    assert shell(f"clean people.csv --nonsense {streams}")[:2] == (2, "")


@pytest.mark.slow
def test_a_reader_that_has_gone_ends_the_command_silently(shell):
    _, out, errors = shell("data list 2>&1 | head -n 1")
    assert out.split()[0] == "name"
    assert errors == ""


def test_closed_streams_are_named_in_this_process_too(monkeypatch):
    from click import ClickException

    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(ClickException, match="Standard input is closed"):
        standard_input()
    with pytest.raises(ClickException, match="Standard output is closed"):
        standard_output()


PREPARED = """
import os, sys
from ambilearn.cli.streams import prepare_streams
prepare_streams()
with open(sys.argv[1], "w") as file:
    number = file.fileno()
    os.write(2, b"a message of some library") if sys.argv[2] == "open" else None
    print("kept", file=sys.stderr)
sys.exit(number <= 2)
"""


@pytest.mark.parametrize("streams", ["", ">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_no_file_takes_the_place_of_a_closed_stream(tmp_path, streams):
    """Else messages of libraries would be written into somebody's table."""
    target, state = tmp_path / "table.csv", "closed" if "2>" in streams else "open"
    line = f'exec "$0" -c "$1" "$2" {state} {streams}'
    ran = subprocess.run(["sh", "-c", line, sys.executable, PREPARED, target], capture_output=True)
    assert ran.returncode == 0
    assert target.read_bytes() == b""
    assert ran.stderr.endswith(b"" if state == "closed" else b"kept\n")
