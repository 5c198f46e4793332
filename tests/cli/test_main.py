"""The command line, run as a user runs it; downloads come from a loopback server."""

import os
import pty
import re
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner
from loopback import serve

from ambilearn import __version__
from ambilearn.cli.main import main
from ambilearn.datasets.registry import registry


@pytest.fixture(autouse=True)
def private_machine(tmp_path, monkeypatch):
    """A cache of its own, no network, and none of the settings of the person who tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("AMBILEARN_MIRROR", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.delenv("AMBILEARN_DATA", raising=False)


def run(*arguments):
    """Exit status, output and errors of a command."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    "command", [[], ["data"], ["data", "list"], ["data", "fetch"], ["data", "check"]]
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_fits_the_terminal_and_explains(command, option):
    status, out, _ = run(*command, option)
    assert status == 0
    assert all(len(line) <= 80 for line in out.splitlines())
    assert len(out.splitlines()) > 5
    if command[1:]:
        assert "--data-home FOLDER" in out
        assert "AMBILEARN_DATA" in out


def test_version():
    assert run("--version")[1].split()[-1] == __version__


def test_list_names_every_set_with_its_numbers_and_what_is_here():
    status, out, _ = run("data", "list")
    assert status == 0
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    for name, info in registry().items():
        candidates = f"{info.mean_candidates:.2f}" if info.mean_candidates else "–"
        numbers = [str(info.rows), str(info.features), str(info.labels)]
        here = "yes" if info.file is None else "no"
        assert lines[name] == [name, *numbers, candidates, here]
    assert all(len(line) <= 80 for line in out.splitlines()[: len(registry()) + 1])
    assert "ambilearn data fetch NAME" in out


def test_list_says_where_it_looked(tmp_path, monkeypatch):
    monkeypatch.setenv("AMBILEARN_DATA", str(tmp_path / "mine"))
    out = run("data", "list", "--data-home", tmp_path / "given")[1].splitlines()[-3:]
    assert [line.strip() for line in out] == [
        str(tmp_path / "given"),
        str(tmp_path / "mine"),
        str(tmp_path / "cache" / "ambilearn"),
    ]


def test_fetch_needs_a_name():
    status, _, err = run("data", "fetch")
    assert status == 2
    assert "Name at least one data set" in err


def test_fetch_of_an_unknown_name_suggests_one():
    status, _, err = run("data", "fetch", "lots")
    assert status == 2
    assert "Did you mean 'lost'?" in err


def test_fetch_of_what_needs_no_file():
    status, out, _ = run("data", "fetch", "iris")
    assert status == 0
    assert "comes with scikit-learn" in out


def test_fetch_without_network_fails_and_goes_on(tmp_path):
    status, out, err = run("data", "fetch", "lost", "digits", "--data-home", tmp_path / "home")
    assert status == 1
    assert re.search(r"^lost: lost.mat could not be fetched .* no network", err)
    assert "Traceback" not in err
    assert "digits: comes with scikit-learn" in out


def test_fetch_of_a_file_that_the_source_lacks(tmp_path, monkeypatch):
    with serve(tmp_path) as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        status, _, err = run("data", "fetch", "yahoo-news")
        assert server.requests == ["/Yahoo%21%20News.mat"]
    assert status == 1
    assert "answered 404" in err


def test_check_of_a_fresh_machine_is_content():
    status, out, err = run("data", "check")
    assert status == 0
    assert err == ""
    assert "lost           not here" in out
    assert "digits         right: 1797 rows, 64 features, 10 labels" in out


def test_check_of_a_named_set_that_is_not_here_fails():
    assert run("data", "check", "lost")[0] == 1
    assert run("data", "check", "iris")[0] == 0
    assert run("data", "check", "nonsense")[0] == 2


def test_check_finds_a_wrong_file(tmp_path):
    (tmp_path / "lost.mat").write_text("nonsense")
    status, out, err = run("data", "check", "--data-home", tmp_path)
    assert status == 1
    assert "lost: " in err
    assert "is not the expected file (8 bytes)" in err
    assert f"ambilearn data fetch --force --data-home {tmp_path} lost" in err
    assert "digits         right" in out  # the others are checked all the same


@pytest.fixture
def source(tmp_path, real_data_dir):
    """A folder to serve, with two of the paper's files."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("lost.mat", "glass.data"):
        if not (real_data_dir / name).is_file():
            pytest.skip(f"{name} is not here")
        shutil.copyfile(real_data_dir / name, folder / name)
    return folder


def test_fetch_check_list_of_real_files(source, tmp_path, monkeypatch):
    home = tmp_path / "home"
    with serve(source) as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        status, out, err = run("data", "fetch", "Lost", "glass", "--data-home", home)
        assert (status, err) == (0, "")
        assert f"lost: {home / 'lost.mat'}" in out
        assert "licence: academic use at your own risk" in out
        assert run("data", "fetch", "lost", "--data-home", home)[0] == 0
        assert server.requests == ["/lost.mat", "/glass.data"]  # nothing twice
        assert run("data", "fetch", "--force", "lost", "--data-home", home)[0] == 0
        assert server.requests[-1] == "/lost.mat"
        assert len(server.requests) == 3
    assert sorted(os.listdir(home)) == ["glass.data", "lost.mat"]
    status, out, _ = run("data", "check", "lost", "glass", "--data-home", home)
    assert status == 0
    assert "right: 1122 rows, 108 features, 16 labels, 2.23 candidates a row" in out
    assert re.search(r"^lost .* yes +$", run("data", "list", "--data-home", home)[1], re.MULTILINE)


def test_a_flipped_byte_on_the_way_and_on_disk(source, tmp_path, monkeypatch):
    home = tmp_path / "home"
    with serve(source, "flip") as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        status, _, err = run("data", "fetch", "glass", "--data-home", home)
        assert status == 1
        assert "not the expected file: 11903 bytes instead of 11903" in err
    assert os.listdir(home) == []
    with serve(source) as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        run("data", "fetch", "glass", "--data-home", home)
        content = bytearray((home / "glass.data").read_bytes())
        content[100] ^= 1
        (home / "glass.data").write_bytes(content)
        assert run("data", "check", "glass", "--data-home", home)[0] == 1
        assert run("data", "fetch", "glass", "--data-home", home)[0] == 1
        assert run("data", "fetch", "--force", "glass", "--data-home", home)[0] == 0
    assert run("data", "check", "glass", "--data-home", home)[0] == 0


def in_terminal(*arguments):
    """Exit status and output of ``python -m ambilearn`` in a real (pseudo) terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color"}
    command = [sys.executable, "-m", "ambilearn", *map(str, arguments)]
    child = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # how Linux reports the end of a terminal
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    return child.wait(), b"".join(chunks).decode()


def test_python_dash_m_does_the_same():
    ran = subprocess.run(
        [sys.executable, "-m", "ambilearn", "data", "list"], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == run("data", "list")[:2]
    ran = subprocess.run([sys.executable, "-m", "ambilearn", "data", "nonsense"])
    assert ran.returncode == 2


def test_a_terminal_shows_a_progress_bar(source, tmp_path, monkeypatch):
    with serve(source) as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        status, screen = in_terminal("data", "fetch", "lost", "--data-home", tmp_path / "home")
    assert status == 0
    assert "━" in screen  # the bar
    assert re.search(r"936\.1/936\.1 kB", screen)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "demo", "--quick", "--data", "iris,nosuch"], "no data set 'nosuch'"),
        (
            ["reproduce", "demo", "--quick", "--store", "broken.sqlite"],
            "cannot be used as a result",
        ),
        (["tables", "demo", "--quick", "--store", "broken.sqlite"], "cannot be used as a result"),
        (["reproduce", "demo", "--quick", "--store", "broken.sqlite/x.sqlite"], "broken.sqlite"),
        (["reproduce", "real-world"], "None of the data sets is on this machine"),
    ],
)
def test_what_the_user_can_mend_ends_in_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.sqlite").write_text("this is no database, but long enough for one" * 10)
    status, _, errors = run(*arguments)  # run raises what would be a traceback
    assert status != 0
    assert message in errors.replace("\n", " ")


def test_an_interrupted_run_says_how_to_go_on(tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ambilearn.cli.reproduce_run.reproduce", stop)
    status, _, errors = run("reproduce", "demo", "--quick")
    assert status == 1
    assert "the same command goes on from there" in errors


def test_commands_stand_in_the_order_of_use():
    out = run("--help")[1]
    lines = out.partition("Your own table:\n")[2].splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    assert names == [
        "clean", "review", "fit", "predict", "data",
        "reproduce", "tables", "figures", "report", "verify",
    ]  # fmt: skip
    assert "..." not in out.partition("Your own table:\n")[2]  # no sentence is cut
    out = run("data", "--help")[1].partition("Commands:\n")[2]
    assert [line.split()[0] for line in out.splitlines()] == ["list", "fetch", "check"]


@pytest.mark.parametrize(
    ("command", "titles"),
    [
        ("clean", ["Candidate labels", "Features", "Reading the table", "Learning", "Output"]),
        ("fit", ["Candidate labels", "Features", "Reading the table", "Learning", "Output"]),
        (
            "review",
            ["Candidate labels", "Features", "Reading the table", "Learning", "Images", "Output"],
        ),
        ("predict", ["Reading the table", "Output"]),
        ("reproduce", ["Experiments", "Files", "Choice of parameters", "Work"]),
        ("tables", ["Experiments", "Files"]),
        ("figures", ["Experiments", "Files"]),
        ("report", ["Experiments", "Files"]),
        ("verify", ["Experiments", "Files"]),
    ],
)
def test_options_stand_in_sections(command, titles):
    out = run(command, "--help")[1]
    assert re.findall(r"^(\S.*):$", out, re.MULTILINE) == [*titles, "Other"]
    assert re.findall(r"^ +(-\S+)", out.partition("Other:")[2], re.MULTILINE) == ["-h,"]


def test_help_needs_no_library_of_numbers():
    """scikit-learn alone would take a second, NumPy most of the rest."""
    code = """
import sys
from ambilearn.cli.main import main
try:
    main(["clean", "--help"])
finally:
    heavy = {"sklearn", "scipy", "numpy", "pandas", "matplotlib"} & set(sys.modules)
    assert not heavy, heavy
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "--candidates COLUMN" in ran.stdout
