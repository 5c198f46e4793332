"""What the README says works as it stands."""

import os
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from core_methods import CORE_METHODS
from examples_folder import load
from markdown_pages import ROOT, blocks, commands

README = ROOT / "README.md"
# What a clone would not have, or not need for the README.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".hypothesis", ".*_cache", "__pycache__", "out", "tests", "docs", "cleaned.csv"
)


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


def test_the_picture_is_there_and_small():
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
    assert sorted(rows) == sorted(method.name for method in CORE_METHODS.values())


def test_the_first_page_of_the_documentation_counts_the_methods():
    published = [name for name in CORE_METHODS if name not in ("plstacking", "plvoting")]
    numbers = {7: "Seven", 8: "Eight", 9: "Nine", 10: "Ten"}
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"{numbers[len(published)]} published methods" in page


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_two_commands_lead_from_a_fresh_clone_to_a_cleaned_table(tmp_path):
    """Exactly the lines of the README, in a copy of the work tree without an environment."""
    _need_package_index(tmp_path)
    clone = tmp_path / "clone"
    shutil.copytree(ROOT, clone, ignore=LEFT_OUT)
    lines = commands(README)
    assert len(lines) == 2
    for line in lines:
        done = subprocess.run(
            line, shell=True, cwd=clone, env=_newcomer(), capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    _check_cleaned(clone / "cleaned.csv")


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


def _newcomer():
    """An environment that knows nothing of the one in which the tests run."""
    inside = ("VIRTUAL_ENV", "VENV", "PYTHONPATH", "PYTHONHOME", "MAKEFLAGS", "MAKELEVEL")
    environment = {k: v for k, v in os.environ.items() if k not in inside}
    here = os.path.join(sys.prefix, "bin")
    folders = environment["PATH"].split(os.pathsep)
    environment["PATH"] = os.pathsep.join(folder for folder in folders if folder != here)
    environment["PIP_NO_COMPILE"] = "1"  # which takes half of the time
    environment["PYTHON"] = sys._base_executable  # the one of the PATH may be too old
    return environment


def _need_package_index(folder):
    probe = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0"]
    found = subprocess.run([*probe, "--dest", str(folder), "hatchling"], capture_output=True)
    if found.returncode:
        pytest.skip("needs a package index, to install into a fresh environment")
