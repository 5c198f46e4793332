"""Options: their names in printed commands, in messages and in the docs."""

import re
import shlex

import click
import pytest
from markdown_pages import ROOT

from ambilearn.cli.clean import clean
from ambilearn.cli.main import main
from ambilearn.cli.options import command_line


def printed(*words):
    """The command that repeats a command line with another output."""
    context = clean.make_context("clean", [*words])
    return shlex.split(command_line(context, clean, out="new name.csv"))


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--candidates", "a b", "--candidates", "it's", "--delimiter", "\\t", "--sep", " or "],
        ["--no-answer", "-1", "--no-answer", "", "--candidates", "A*", "--prefix", "--x"],
        ["--weight-annotators", "--na-is-label", "--seed", "0", "--escape-formulas"],
        ["--embed", "note=folder/a model", "--embed", "photo=b", "--candidates", "c"],
        ["--no-weight-annotators", "--set", "reg=0.1", "--method", "plcl", "--decimal", ","],
    ],
)
def test_a_printed_command_has_the_options_that_were_given(options):
    words = printed("t 1.csv", *options)
    assert words[:3] == ["ambilearn", "clean", "t 1.csv"]
    again = clean.make_context("clean", words[2:]).params
    expected = clean.make_context("clean", ["t 1.csv", *options, "--out", "new name.csv"]).params
    assert again == expected
    assert len(words) == len(options) + 5


def test_a_flag_that_is_no_parameter_is_printed(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "")
    assert "--offline" in printed("t.csv", "--offline")


def test_a_table_whose_name_begins_with_a_dash():
    assert printed("--", "-t.csv")[-2:] == ["--", "-t.csv"]
    assert printed("-")[2] == "-"


def test_options_of_the_commands_have_one_name():
    """The same option is spelled and explained in one way."""
    texts = {}
    for name in ("clean", "review", "fit"):
        for option in main.commands[name].params:
            if isinstance(option, click.Option) and "--out" not in option.opts[0]:
                texts.setdefault(option.opts[0], set()).add(option.help)
    assert {name for name, found in texts.items() if len(found) > 1} <= {"--image", "--model-out"}


def every_option(command):
    """Names of the options of a command and of its subcommands."""
    if isinstance(command, click.Group):
        return set().union(*map(every_option, command.commands.values()))
    return {"--help", "--help-all"}.union(*(p.opts + p.secondary_opts for p in command.params))


def test_messages_name_options_that_exist():
    options = every_option(main) | {"--short"}  # of git
    for path in (ROOT / "src").rglob("*.py"):
        named = re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", path.read_text("utf-8"))
        assert set(named) <= options, path


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_commands_and_options_in_the_docs_exist(path):
    text = path.read_text("utf-8").replace("\\\n", " ")
    for line in re.findall(r"^(?:\.venv/bin/)?ambilearn (.* --.*)", text, re.M):
        command, words = main, line.partition(" #")[0].split()
        while isinstance(command, click.Group) and words:
            command = command.commands[words.pop(0)]
        assert {w for w in words if w.startswith("--")} <= every_option(command), line
