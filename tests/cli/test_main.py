"""The command line as a whole: help, version, errors in one line."""

import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from ambilearn import __version__
from ambilearn.cli.main import main


@pytest.mark.parametrize(
    "command", [[], ["data"], ["data", "list"], ["data", "fetch"], ["data", "check"]]
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_fits_the_terminal_and_explains(run, command, option):
    out, _ = run.succeeds(*command, option)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert len(out.splitlines()) > 5
    if command[1:]:
        assert "--data-home FOLDER" in out
        assert "AMBILEARN_DATA" in out


def test_version(run):
    assert run("--version")[1].split()[-1] == __version__


@pytest.mark.slow
def test_python_dash_m_does_the_same(process, run):
    status, out, _ = process("--help")
    assert status == 0
    assert out.decode().splitlines()[1:] == run("--help")[1].splitlines()[1:]
    assert process("data", "nonsense")[0] == 2


@pytest.mark.slow
def test_the_command_line_starts_without_the_heavy_parts():
    heavy = ["matplotlib", "dask", "distributed", "jinja2", "rich", "skops", "pooch"]
    code = f"import sys, ambilearn.cli.main; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_an_unexpected_error_is_one_message(monkeypatch):
    def fail(*arguments, **options):
        raise KeyError("something of ours")

    monkeypatch.setattr("ambilearn.datasets.list_datasets", fail)
    monkeypatch.delenv("AMBILEARN_DEBUG")
    result = CliRunner().invoke(main, ["data", "list"])
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "Error: unexpected KeyError: 'something of ours'\nThis is a bug"
    )
    monkeypatch.setenv("AMBILEARN_DEBUG", "1")
    assert isinstance(CliRunner().invoke(main, ["data", "list"]).exception, KeyError)


def test_without_standalone_mode_errors_are_raised(monkeypatch):
    with pytest.raises(click.UsageError, match="No such command 'nonsense'"):
        main(["nonsense"], standalone_mode=False)
    with pytest.raises(FileNotFoundError):
        main(["clean", "no.csv", "--candidates", "a"], standalone_mode=False)


NINES = "9" * 400


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["paper", "run", "demo", "--runs", NINES], 2),
        (["paper", "run", "demo", "--jobs", NINES], 2),
        (["paper", "tables", "demo", "--runs", NINES], 2),
        (["paper", "run", "demo", "--runs", "9" * 5000], 2),
        (["paper", "run", "demo", "--search", f"random:{'9' * 5000}"], 2),
        (["paper", "run", "demo", "--search", "random:²"], 2),
        (["clean", "t.csv", "--candidates", "c", "--seed", NINES], 2),
        (["clean", "t.csv", "--candidates", "c", "--min-votes", NINES], 1),
        (["clean", "t.csv", "--candidates", "c", "--set", f"alpha={NINES}"], 1),
        (["clean", "t.csv", "--candidates", "c", "--set", f"alpha={'9' * 5000}"], 1),
        (["clean", "t.csv", "--candidates", "c", "--method", "plknn", "--set", "a=" + NINES], 1),
    ],
)
def test_numbers_with_hundreds_of_digits_are_rejected(run, tmp_path, arguments, status):
    rows = "".join(f"{i},{i % 3},{'ab'[i % 2]}|c\n" for i in range(12))
    (tmp_path / "t.csv").write_text("x,y,c\n" + rows)
    found, _, errors = run(*arguments)
    assert found == status
    assert "Error: " in errors


def test_commands_are_listed_in_the_order_of_use(run):
    out = run("--help")[1]
    lines = out.partition("Your own table:\n")[2].splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    assert names == [
        "clean", "review", "audit", "fit", "predict", "data", "paper",
    ]  # fmt: skip
    assert "..." not in out.partition("Your own table:\n")[2]  # no sentence is cut
    out = run("data", "--help")[1].partition("Commands:\n")[2]
    assert [line.split()[0] for line in out.splitlines()] == ["list", "fetch", "check"]
    out = run("paper", "--help")[1].partition("Commands:\n")[2]
    names = [line.split()[0] for line in out.splitlines()]
    assert names == ["run", "tables", "figures", "report", "verify"]


@pytest.mark.parametrize(
    ("command", "titles"),
    [
        (
            "clean",
            [
                "Candidate labels",
                "Features",
                "Reading the table",
                "Answers of annotators",
                "Images",
                "Learning",
                "Output",
            ],
        ),
        (
            "fit",
            [
                "Candidate labels",
                "Features",
                "Reading the table",
                "Answers of annotators",
                "Images",
                "Learning",
                "Output",
            ],
        ),
        (
            "review",
            [
                "Candidate labels",
                "Features",
                "Reading the table",
                "Answers of annotators",
                "Learning",
                "Images",
                "Output",
                "Server",
            ],
        ),
        ("predict", ["Reading the table", "Images", "Work", "Output"]),
        ("audit", ["True labels", "Columns", "Reading the table", "Output"]),
    ],
)
def test_options_are_listed_in_sections(run, command, titles):
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
