"""Images of a table, and their addresses for the page."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ambilearn._utils.image_files import find_image_file, find_scheme
from ambilearn.review.embedding import Problem, Shown, embed_image


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
