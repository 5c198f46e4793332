"""The command line as a whole: help, version, errors in one line."""

import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from ambilearn import __version__
from ambilearn.cli.main import main


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
        (["paper", "run", "demo", "--search", f"random:{'9' * 5000}"], 2),
        (["clean", "t.csv", "--candidates", "c", "--seed", NINES], 2),
        (["clean", "t.csv", "--candidates", "c", "--min-votes", NINES], 1),
        (["clean", "t.csv", "--candidates", "c", "--set", f"alpha={'9' * 5000}"], 1),
    ],
)
def test_numbers_with_hundreds_of_digits_are_rejected(run, tmp_path, arguments, status):
    rows = "".join(f"{i},{i % 3},{'ab'[i % 2]}|c\n" for i in range(12))
    (tmp_path / "t.csv").write_text("x,y,c\n" + rows)
    found, _, errors = run(*arguments)
    assert found == status
    assert "Error: " in errors


def test_commands_are_listed_in_the_order_of_use(run):
    def listed(*group):
        out = run(*group, "--help")[1].partition("Commands:\n")[2]
        assert "..." not in out  # no sentence is cut
        return [line.split()[0] for line in out.splitlines()]

    assert listed() == ["clean", "review", "audit", "fit", "predict", "data", "paper"]
    assert listed("data") == ["list", "fetch", "check"]
    assert listed("paper") == ["run", "tables", "figures", "report", "verify"]


def leaves(group, *names):
    """All commands, with the words that call them."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, *names, name)
        else:
            yield (*names, name)


@pytest.mark.parametrize("command", [*leaves(main)], ids=" ".join)
def test_help_fits_on_one_screen(command):
    """At 80 columns, of which click uses 78."""
    shown = CliRunner().invoke(main, [*command, "--help"], terminal_width=78).output
    assert len(shown.splitlines()) <= 45
    assert max(map(len, shown.splitlines())) <= 80
    about = shown.partition("\n\n")[2].partition("\nOptions:")[0]
    assert len(about.splitlines()) <= 7  # six, and an empty one


@pytest.mark.parametrize("command", ["clean", "review", "audit", "fit", "predict"])
def test_help_all_has_every_option_in_sections(run, command):
    short, whole = (run.succeeds(command, option)[0] for option in ("--help", "--help-all"))
    options = [o for o in main.commands[command].params if isinstance(o, click.Option)]
    assert all(option.opts[0] in whole for option in options)
    named = set(re.findall(r"^  (--[\w-]+)", short, flags=re.M))
    assert {"--help-all"} < named < set(re.findall(r"^  (--[\w-]+)", whole, flags=re.M))
    assert len(named) <= 16  # with --help and --help-all
    titles = re.findall(r"^(\w.*):$", whole, flags=re.M)
    assert titles[-1] == "Other"
    assert len(titles) > 3
    assert whole.index("Example: ambilearn") > whole.index("--help-all")


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
