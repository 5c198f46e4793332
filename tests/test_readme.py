"""What the README says works as it stands."""

import re
import shlex
import shutil

import pandas as pd
import pytest
from click.testing import CliRunner
from examples_folder import load
from markdown_pages import ROOT, blocks, commands

from ambilearn.cli.main import main
from ambilearn.registry import METHODS

README = ROOT / "README.md"


def test_code_blocks_run_one_after_the_other(capsys):
    namespace = {}
    for block in blocks(README, "python"):
        exec(compile(block, str(README), "exec"), namespace)
    scores = [float(x) for x in re.findall(r"\d\.\d+", capsys.readouterr().out)]
    assert len(scores) == 2
    assert min(scores) > 0.9


def test_the_example_has_at_most_twelve_lines():
    first = blocks(README, "python")[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 12


def test_the_picture_exists_and_is_small():
    picture = ROOT / re.search(r"!\[[^\]]+\]\(([^)]+)\)", README.read_text(encoding="utf-8"))[1]
    assert 1_000 < picture.stat().st_size < 150_000


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake (\w+)", README.read_text(encoding="utf-8")))
    assert {"install", "demo", "test", "docs"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_table_has_every_method_for_features():
    rows = re.findall(r"^\| `(\w+)` \|", README.read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted({each.name for each in METHODS.values() if each.extra is None})


@pytest.mark.slow
def test_two_commands_lead_to_a_cleaned_table(tmp_path, monkeypatch):
    """`make release-check` runs both as they stand, in a folder without an environment."""
    install, clean = commands(README)
    assert install.split("#")[0].strip() == "make install"
    program, *arguments = shlex.split(clean)
    assert program == ".venv/bin/ambilearn"
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    _check_cleaned(tmp_path / "cleaned.csv")


def _check_cleaned(path):
    cleaned = pd.read_csv(path)
    table, truth = load("make_people").make_people()
    assert list(cleaned.columns[: table.shape[1]]) == list(table.columns)
    assert len(cleaned) == len(table)
    for label, names in zip(cleaned["label"], cleaned["names"], strict=True):
        assert label in names.split("|")
    right = cleaned["label"].to_numpy() == truth
    assert right.mean() > 0.9
    # The page on one's own data promises that the mistakes are among the first to look at.
    assert cleaned.loc[~right, "review_rank"].max() <= 8
