"""The table on images is the one that the stored measurements give."""

import json
import runpy

from markdown_pages import ROOT

DOCS = ROOT / "docs"


def test_the_page_has_the_table_that_is_printed():
    script = runpy.run_path(str(ROOT / "benchmarks" / "deep_images.py"))
    lines = (DOCS / "deep_images.jsonl").read_text(encoding="utf-8").splitlines()
    table = "\n".join(script["make_table"](map(json.loads, lines)))
    assert table in (DOCS / "measurements" / "images.md").read_text(encoding="utf-8")
