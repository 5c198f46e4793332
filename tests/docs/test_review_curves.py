"""The tables of review curves are those that the measurements give."""

import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "make_review_curves_picture.py"))


def test_the_page_has_the_tables_that_are_printed(script, capsys):
    script["print_tables"]()
    printed = capsys.readouterr().out.split("\n\n")
    page = (DOCS / "measurements" / "truth-not-in-the-set.md").read_text(encoding="utf-8")
    assert len(printed) == 3
    for table in printed:
        assert table.strip() in page
    assert (DOCS / "_static" / "review-curves.png").exists()


def test_every_order_was_measured_at_every_share(script):
    for data in script["DATA"]:
        for order in script["ORDERS"]:
            curve = script["points"](data, order)
            assert [line["settled"] for line in curve] == [0.0, 0.02, 0.05, 0.1, 0.2]
            assert curve[-1]["transductive"] > curve[0]["transductive"]
            assert curve[0] == curve[0] | {
                "transductive": script["points"](data, "margin")[0]["transductive"],
                "wrong": 0.0,
            }
