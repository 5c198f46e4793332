"""Put the tables that `ambilearn paper tables --out docs/reproduction` wrote into the pages.

A page says `<!-- NAME -->` where the table of NAME.md begins, and `<!-- end -->` where it ends.
Run it after the command: python docs/fill_reproduction_tables.py
"""

import re
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = (DOCS / "reproduction.md", DOCS / "oracle.md")


def fill(page: str) -> str:
    """The text of a page with its tables as they are in the files now."""
    return re.sub(r"<!-- (?!end)(\S+) -->\n.*?<!-- end -->", _block, page, flags=re.DOTALL)


def _block(found: re.Match[str]) -> str:
    text = (DOCS / "reproduction" / f"{found[1]}.md").read_text("utf-8")
    table = text.split("\n", 2)[2]  # without its title: the page has a heading there
    return f"<!-- {found[1]} -->\n{table.strip()}\n<!-- end -->"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(fill(path.read_text("utf-8")), "utf-8")
