"""The tables of the interactive review are those that the measurements give."""

import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "make_review_session_tables.py"))


@pytest.fixture(scope="module")
def lines(script):
    return script["read"](script["STORE"])


def test_the_page_has_the_tables_that_are_printed(script, lines, capsys):
    page = (DOCS / "measurements" / "interactive-review.md").read_text(encoding="utf-8")
    script["print_gains"](lines, "gain")
    script["print_coverage"](lines)
    script["print_latency"](lines)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 11 + 5 + 11
    assert [line for line in printed if line not in page] == []
