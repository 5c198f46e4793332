"""The tables on images are those that the stored measurements give."""

import json
import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"


@pytest.mark.deep
def test_the_page_has_the_tables_that_are_printed():
    pytest.importorskip("torch")  # the script defines networks
    script = runpy.run_path(str(ROOT / "benchmarks" / "deep_images.py"))
    lines = (DOCS / "deep_images.jsonl").read_text(encoding="utf-8").splitlines()
    tables = "\n".join(script["make_tables"](map(json.loads, lines)))
    assert tables in (DOCS / "measurements" / "images.md").read_text(encoding="utf-8")
