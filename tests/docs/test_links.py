"""Every link from a page to a file of the project has a target."""

import re

import pytest
from markdown_pages import ROOT, anchors, links, pages

# Made by `make docs`; whether these pages exist is checked there, and here by their sources.
GENERATED = re.compile(r"(?:\.\./)*gallery/(\w+)\.rst")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_and_headings_resolve(page):
    for link in links(page):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        if generated := GENERATED.fullmatch(link):
            name = generated[1]
            assert name == "index" or (ROOT / "examples" / f"{name}.py").exists(), link
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} in {page.name}"
        if anchor:
            assert anchor in anchors(target), f"{link} in {page.name}"


def test_pages_have_links_at_all():
    assert sum(len(links(page)) for page in pages()) > 50


def test_pages_of_the_guide_are_in_its_table_of_contents():
    guide = ROOT / "docs" / "guide"
    text = (guide / "index.md").read_text(encoding="utf-8")
    contents = set(re.search(r":hidden:\n\n(.*?)```", text, re.S)[1].split())
    assert contents == {page.stem for page in guide.glob("*.md")} - {"index"}
