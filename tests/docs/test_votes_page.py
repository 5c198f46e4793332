"""The page on votes: its commands run on the files that its code writes."""

import shlex

import pandas as pd
import pytest
from click.testing import CliRunner
from markdown_pages import ROOT, blocks, commands

from ambilearn.cli.main import main

PAGE = ROOT / "docs" / "guide" / "votes.md"


@pytest.mark.slow
def test_the_commands_run_and_show_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    namespace = {"__name__": "page"}
    for block in blocks(PAGE, "python"):
        exec(compile(block, str(PAGE), "exec"), namespace)
    (line,) = (line for line in commands(PAGE) if line.startswith("ambilearn"))
    done = CliRunner().invoke(main, shlex.split(line)[1:])
    assert done.exit_code == 0, done.output
    for annotator, answers in (row.split()[:2] for row in blocks(PAGE, "text")[0].splitlines()[2:]):
        assert f"{annotator}  " in done.output
        assert f" {answers}  " in done.output
    cleaned = pd.read_csv("cleaned.csv", dtype=str, keep_default_na=False)
    assert (cleaned["label"] == namespace["flowers"].y).mean() > 0.9
    check_labels_without_a_vote(cleaned)


def check_labels_without_a_vote(cleaned):
    """As the page says: a label may be in no answer, and rows are ordered by confidence."""
    pairs = zip(cleaned["label"], cleaned["answers"], strict=True)
    assert any(label not in answers.split("|") for label, answers in pairs)
    numbers = cleaned[["doubt", "confidence", "review_rank"]].astype(float)
    assert (numbers["doubt"] + numbers["confidence"] <= 1 + 2e-6).all()
    assert numbers.sort_values("review_rank")["confidence"].is_monotonic_increasing
