"""Images of a table: the column that names them, and their addresses for the page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from ambilearn.review.embedding import Problem, Shown, embed_image

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
    path = urlsplit(cell).path if _find_scheme(cell) in ("http", "https") else cell
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
        if _find_scheme(cell) in ("http", "https") or cell.lower().startswith("data:image/"):
            return Shown(cell)
        path, problem = self._find_path(cell)
        if path is None or (self.embed and problem is not None):
            shown = Shown(problem=problem)
        elif self.embed:
            shown = embed_image(path)
        else:  # the file may come later
            shown = Shown(self._link(path), problem)
        if shown.problem is not None:
            self.problems.append((cell, shown.problem))
        return shown

    def _find_path(self, cell: str) -> tuple[Path | None, Problem | None]:
        """The file that a cell names; None if it is outside the allowed folders."""
        name = url2pathname(urlsplit(cell).path) if _find_scheme(cell) == "file" else cell
        folders = (self.table_folder, *self.other_folders)
        try:
            allowed = [folder.resolve() for folder in folders]
            # A browser removes ".." from an address before it follows symbolic links.
            paths = [Path(os.path.normpath(folder / name)) for folder in folders]
            inside = [path for path in paths if _is_in(path.resolve(), allowed)]
        except (OSError, ValueError, RuntimeError):  # the system does not accept the name
            return None, Problem.NOT_FOUND
        if not inside:
            return None, Problem.OUTSIDE
        found = next(filter(_is_file, inside), None)
        return (found, None) if found else (inside[0], Problem.NOT_FOUND)

    def _link(self, path: Path) -> str:
        try:
            relative = os.path.relpath(path, self.page_folder)
        except ValueError:  # another drive of Windows
            return path.absolute().as_uri()
        return quote(Path(relative).as_posix())  # quotes the colon: never taken for a scheme


def _is_in(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no name that the system accepts
        return False


def _find_scheme(cell: str) -> str:
    """Scheme of an address in small letters, empty for a path: one letter is a drive."""
    try:
        scheme = urlsplit(cell).scheme.lower()
    except ValueError:
        return ""
    return scheme if len(scheme) > 1 else ""
