"""The tables on the pages of the reproduction are those that `ambilearn paper tables` wrote."""

import csv
import re
import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"
FOLDER = DOCS / "reproduction"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "fill_reproduction_tables.py"))


def test_the_pages_have_the_tables_of_the_files(script):
    for path in script["PAGES"]:
        page = path.read_text("utf-8")
        assert page.count("<!-- end -->") >= 4
        assert script["fill"](page) == page, f"run docs/fill_reproduction_tables.py for {path.name}"


def test_an_old_table_is_replaced_and_the_prose_is_kept(script):
    page = "Before.\n\n<!-- verify -->\nold\n<!-- end -->\n\nAfter.\n"
    filled = script["fill"](page)
    assert filled.startswith("Before.\n\n<!-- verify -->\n| table | method |")
    assert filled.endswith("\n<!-- end -->\n\nAfter.\n")
    assert "old" not in filled
    assert "**Published and measured**" not in filled


def test_every_table_is_listed_with_its_numbers():
    index = (FOLDER / "index.md").read_text("utf-8")
    tables = {path.stem for path in FOLDER.glob("*.md")} - {"index"}
    assert tables == {path.stem for path in FOLDER.glob("*.csv")}
    for name in tables:
        assert f"({name}.md)" in index
        assert f"({name}.csv)" in index


def test_every_number_of_an_oracle_is_marked_as_chosen_with_the_test_labels():
    for path in FOLDER.glob("*.md"):
        text = path.read_text("utf-8")
        if "oracle" in text and path.name != "index.md":
            assert "chosen with the test labels" in text, path.name
            for line in re.findall(r"^\| .*oracle.*$", text, flags=re.MULTILINE):
                assert "†" in line, (path.name, line)
    with (FOLDER / "oracle-real-world.csv").open(encoding="utf-8") as file:
        assert {row["select"] for row in csv.DictReader(file)} == {"oracle"}
