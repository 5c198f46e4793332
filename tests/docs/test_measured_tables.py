"""The tables on the measurement pages are those that the scripts print from the measurements."""

import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"
DOUBT = "measurements/truth-not-in-the-set.md"


@pytest.mark.parametrize(
    ("script", "page", "n_tables", "pictures"),
    [
        ("make_gpu_picture", "gpu.md", 4, ["gpu.png"]),
        ("make_fragility_picture", DOUBT, 4, ["fragility.png"]),
        ("make_review_curves_picture", DOUBT, 3, ["review-curves.png"]),
        ("make_stacking_tables", "measurements/stacking.md", 3, []),
    ],
)
def test_a_page_has_the_tables_that_are_printed(script, page, n_tables, pictures, capsys):
    runpy.run_path(str(DOCS / f"{script}.py"))["print_tables"]()
    tables = capsys.readouterr().out.replace("η = 0.", "η = .").split("\n\n")
    text = (DOCS / page).read_text(encoding="utf-8")
    assert len(tables) == n_tables
    assert [table for table in tables if table.strip() not in text] == []
    assert all((DOCS / "_static" / picture).exists() for picture in pictures)
