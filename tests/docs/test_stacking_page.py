"""The tables on stacking are those that the measurements give."""

import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "guide" / "stacking.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "make_stacking_tables.py"))


def test_the_page_has_the_tables_that_are_printed(script, capsys):
    script["print_tables"]()
    tables = capsys.readouterr().out.split("\n\n")
    assert len(tables) == 3
    for table in tables:
        assert table.strip() in PAGE


def test_every_learner_was_measured_on_the_ten_halves(script):
    for data in script["DATA"]:
        for learner in script["METHODS"] | script["WRAPPERS"] | script["ENSEMBLES"]:
            assert script["line"](data, learner)["seeds"] == 10


def test_what_the_page_says_of_the_differences(script):
    """Ahead of every single method on two sets, and level with PL-CL on the third."""
    line = script["line"]
    for data in ("lost", "msrcv2"):
        stack = line(data, "PLStacking")
        for method in script["METHODS"] | script["WRAPPERS"]:
            alone = line(data, method)
            for figure, p in (("accuracy", 1e-5), ("transductive", 0.005)):
                assert stack[figure] > alone[figure]
                assert alone[f"{figure}_p"] < p
    for figure in ("accuracy", "within_3"):
        assert line("fg-net", "PLCL")[f"{figure}_p"] > 0.05
    assert line("fg-net", "PLStacking")["transductive"] > line("fg-net", "PLCL")["transductive"]
