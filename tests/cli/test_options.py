"""Commands that are printed to be run."""

import shlex

import click
import pytest

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
