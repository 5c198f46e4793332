"""The tables on fragility are those that the measurements give."""

import runpy

from markdown_pages import ROOT

DOCS = ROOT / "docs"


def test_the_page_has_the_tables_that_are_printed(capsys):
    script = runpy.run_path(str(DOCS / "make_fragility_picture.py"))
    script["print_tables"]()
    printed = capsys.readouterr().out.replace("η = 0.", "η = .").split("\n\n")
    page = (DOCS / "guide" / "truth-not-in-the-set.md").read_text(encoding="utf-8")
    assert len(printed) == 4
    for table in printed:
        assert table.strip() in page
    assert (DOCS / "_static" / "fragility.png").exists()


def test_all_methods_were_measured_at_every_share():
    script = runpy.run_path(str(DOCS / "make_fragility_picture.py"))
    for data in script["DATA"]:
        for method in script["METHODS"]:
            swapped = script["points"](data=data, method=method, noise="swap")
            assert [line["eta"] for line in swapped] == [0.0, 0.1, 0.2, 0.3, 0.4]
            assert swapped[0]["accuracy"] > swapped[-1]["accuracy"]
