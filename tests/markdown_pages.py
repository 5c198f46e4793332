"""Read the Markdown of the project: its code blocks, the files it shows, its links."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Fenced blocks. What Sphinx or `ambilearn paper tables` generates is not ours to read.
_BLOCK = re.compile(r"^(?P<fence>```+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)$", re.M | re.S)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """All Markdown pages that people write, the README first."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    below = sorted((ROOT / "docs").rglob("*.md"))
    return top + [page for page in below if "gallery" not in page.parts]


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in a language, in order."""
    return [
        match["body"]
        for match in _BLOCK.finditer(page.read_text(encoding="utf-8"))
        if match["info"].strip() == language
    ]


def commands(page: Path) -> list[str]:
    """The lines of the shell blocks of a page; a line that goes on in the next counts as one."""
    text = "\n".join(blocks(page, "sh")).replace("\\\n", "")
    return [line for line in text.splitlines() if line.strip()]


def shown_files(page: Path) -> dict[str, str]:
    """Files that a page shows in blocks with a caption, by name."""
    return dict(
        re.match(r":caption: (\S+)\n\n(.*)", body, re.S).groups()
        for body in blocks(page, "{code-block} text")
    )


def links(page: Path) -> list[str]:
    """The targets of a page's links, code blocks aside."""
    return _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
