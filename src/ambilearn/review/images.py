"""Images of a table: the column that names them, and their addresses for the page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from ambilearn.review.embedding import Problem, Shown, embed_image
from ambilearn.tables.image_files import find_image_file, find_scheme

# What browsers show.
ENDINGS = {".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"}


def looks_like_image(cell: str) -> bool:
    """Whether a text is the path or the address of an image, by its ending.

    Examples
    --------
    >>> [looks_like_image(text) for text in ("a/b.JPG", "https://x.org/b.png?s=2", "b.txt", "")]
    [True, True, False, False]
    """
    cell = cell.strip()
    if cell.lower().startswith("data:image/"):
        return True
    path = urlsplit(cell).path if find_scheme(cell) in ("http", "https") else cell
    return PurePosixPath(path.replace("\\", "/")).suffix.lower() in ENDINGS


def find_image_column(columns: Mapping[str, Sequence[str]]) -> str | None:
    """Name of the first column in which most filled cells look like images."""
    for name, cells in columns.items():
        filled = [cell for cell in cells if cell.strip()]
        if filled and 2 * sum(map(looks_like_image, filled)) > len(filled):
            return name
    return None


@dataclass
class Images:
    """Finds the images of a table and makes their addresses for the page.

    Parameters
    ----------
    table_folder : Path
        Where relative paths begin. Images are taken from this folder and the folders below it.
    page_folder : Path
        Where the page will be: local images are linked from there.
    embed : bool, default=False
        Put local images into the page, reduced if they are large.
    other_folders : sequence of Path, default=()
        Further folders from which images are taken. A relative path that is not found in
        ``table_folder`` is looked up there.

    Attributes
    ----------
    problems : list of (str, Problem)
        Cells whose images cannot be shown, and why.
    """

    table_folder: Path
    page_folder: Path
    embed: bool = False
    other_folders: Sequence[Path] = ()
    problems: list[tuple[str, Problem]] = field(default_factory=list)

    def find(self, cell: str) -> Shown:
        """Address of the image that a cell names, and its problem if it cannot be shown."""
        cell = cell.strip()
        if not cell:
            return Shown()
        if cell.lower().startswith("data:image/"):
            return Shown(cell)
        shown = self._show(cell)
        if shown.problem is not None:
            self.problems.append((cell, shown.problem))
        return shown

    def _show(self, cell: str) -> Shown:
        if find_scheme(cell) in ("http", "https"):
            return Shown(cell)
        path, problem = self._find_path(cell)
        if path is None or (self.embed and problem is not None):
            return Shown(problem=problem)
        if self.embed:
            return embed_image(path)
        return Shown(self._link(path), problem)  # the file may come later

    def _find_path(self, cell: str) -> tuple[Path | None, Problem | None]:
        """The file that a cell names; None if it is outside the allowed folders."""
        path, problem = find_image_file(cell, (self.table_folder, *self.other_folders))
        return path, None if problem is None else Problem(problem)

    def _link(self, path: Path) -> str:
        try:
            relative = os.path.relpath(path, self.page_folder)
        except ValueError:  # another drive of Windows
            return path.absolute().as_uri()
        return quote(Path(relative).as_posix())  # quotes the colon: never taken for a scheme


@dataclass
class ServedImages(Images):
    """Images that a server sends: by their number, from the allowed folders of this machine.

    ``paths`` has the file of each number, without symbolic links.
    """

    paths: list[Path] = field(default_factory=list)

    def _show(self, cell: str) -> Shown:
        if find_scheme(cell) in ("http", "https"):
            return Shown(problem=Problem.REMOTE)
        path, problem = self._find_path(cell)
        if path is None:
            return Shown(problem=problem)
        self.paths.append(path.resolve())
        return Shown(f"image/{len(self.paths) - 1}", problem)
