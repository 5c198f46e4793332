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


def test_what_was_to_be_shown(script, lines):
    every, lowest = script["total_coverage"](lines)
    assert 0.93 < lowest < every
    times = [line for line in lines if line["benchmark"] == "review_latency"]
    assert {line["rows"] for line in times} == {5000, 100_000}
    assert all(line["answers"] == 500 and line["answer_p100"] < 0.05 for line in times)
    assert all(line["order_p100"] < (1 if line["rows"] == 5000 else 3) for line in times)
    sessions = {(line["data"], line["seed"]) for line in lines if line.get("order") == "session"}
    assert len(sessions) == 30
