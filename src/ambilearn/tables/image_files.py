"""A column with names of image files: find the files, and pass them to a method for images."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from ambilearn._utils.image_formats import IMAGE_ENDINGS
from ambilearn._utils.missing import is_missing
from ambilearn._utils.text import shorten_repr
from ambilearn.datasets.errors import InvalidFileError

if TYPE_CHECKING:
    import pandas as pd

NOT_FOUND, OUTSIDE = "not found", "outside the allowed folders"


class ImageColumn(TransformerMixin, BaseEstimator):
    """Pass on a column of image files: the step before a method that learns from images."""

    def fit(self, X: "pd.DataFrame", y: Any = None) -> Self:
        """Keep the name of the column."""
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X: "pd.DataFrame") -> NDArray[Any]:
        """The files, an array of shape (n, 1)."""
        files: NDArray[Any] = X.to_numpy(dtype=object)
        return files


def find_image_files(where: str, cells: Sequence[Any], folders: Sequence[Path]) -> list[str]:
    """The image files that the cells of a column name, relative to one of the folders.

    Raises InvalidFileError, with the row, if a cell names no file in these folders.
    """
    found = []
    for row, cell in enumerate(cells):
        if is_missing(cell) or not str(cell).strip():
            raise InvalidFileError(
                f"{where}, row {row}: the cell is empty. Learning from images needs an image in "
                "every row: name a file, or remove the row."
            )
        name = str(cell).strip()
        if find_scheme(name) not in ("", "file"):
            raise InvalidFileError(
                f"{where}, row {row}: {shorten_repr(name)} is not a file. Download the images, and "
                "write the names of the files into the table."
            )
        path, problem = find_image_file(name, folders)
        if problem is not None:
            advice = (
                "Allow its folder with --image-folder (image_folders in Python)."
                if problem == OUTSIDE
                else "Paths are relative to the folder of the table."
            )
            raise InvalidFileError(
                f"{where}, row {row}: the image {shorten_repr(name)} is {problem}. {advice}"
            )
        found.append(str(path))
    return found


def find_image_file(cell: str, folders: Sequence[Path]) -> tuple[Path | None, str | None]:
    """The file that a cell names, and what is wrong with it; None if it is in no allowed folder.

    The cell is a path or an address of the scheme ``file:``. A relative path is looked up in all
    folders.
    """
    name = url2pathname(urlsplit(cell).path) if find_scheme(cell) == "file" else cell
    try:
        allowed = [folder.resolve() for folder in folders]
        # A browser removes ".." from an address before it follows symbolic links.
        paths = [Path(os.path.normpath(folder / name)) for folder in folders]
        inside = [path for path in paths if _is_in(path.resolve(), allowed)]
    except (OSError, ValueError, RuntimeError):  # the system does not accept the name
        return None, NOT_FOUND
    if not inside:
        return None, OUTSIDE
    found = next(filter(_is_file, inside), None)
    return (found, None) if found else (inside[0], NOT_FOUND)


def _is_in(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no name that the system accepts
        return False


def find_scheme(cell: str) -> str:
    """Scheme of an address in small letters, empty for a path: one letter is a drive."""
    try:
        scheme = urlsplit(cell).scheme.lower()
    except ValueError:
        return ""
    return scheme if len(scheme) > 1 else ""


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
    return PurePosixPath(path.replace("\\", "/")).suffix.lower() in IMAGE_ENDINGS


def find_image_column(columns: Mapping[str, Sequence[str]]) -> str | None:
    """Name of the first column in which most filled cells look like images."""
    for name, cells in columns.items():
        filled = [cell for cell in cells if cell.strip()]
        if filled and 2 * sum(map(looks_like_image, filled)) > len(filled):
            return name
    return None
