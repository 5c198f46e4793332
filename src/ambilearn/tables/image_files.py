"""A column with names of image files: find the files, and pass them to a method for images."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ambilearn._utils.image_files import (
    OUTSIDE,
    find_image_file,
    find_scheme,
    looks_like_image,
)
from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import AnyCandidates, Array, DataFrame
from ambilearn.datasets.errors import InvalidFileError


class ImageColumn(TransformerMixin, BaseEstimator):
    """Pass on a column of image files: the step before a method that learns from images."""

    def fit(self, X: DataFrame, y: AnyCandidates = None) -> Self:
        """Keep the name of the column."""
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X: DataFrame) -> Array:
        """The files, an array of shape (n, 1)."""
        return X.to_numpy(dtype=object)


def find_image_files(where: str, cells: Sequence[Any], folders: Sequence[Path]) -> list[str]:
    """The image files that the cells of a column name, relative to one of the folders.

    The paths are absolute, also if a folder is not: others look for the files from another folder.
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
        found.append(os.path.abspath(str(path)))
    return found


def find_image_column(columns: Mapping[str, Sequence[str]]) -> str | None:
    """Name of the first column in which most filled cells look like images."""
    for name, cells in columns.items():
        filled = [cell for cell in cells if cell.strip()]
        if filled and 2 * sum(map(looks_like_image, filled)) > len(filled):
            return name
    return None
