"""Names of image files in the cells of a table: where a file is, and whether it is an image."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

# What browsers show.
IMAGE_ENDINGS = {".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"}

# Pillow does not decode these itself: Ghostscript and Windows would run the file's commands.
_NOT_DECODED = {"EPS", "WMF"}

NOT_FOUND, OUTSIDE = "not found", "outside the allowed folders"


def decoded_formats() -> list[str]:
    """Formats that Pillow decodes without another program."""
    from PIL import Image

    Image.init()
    return [name for name in Image.ID if name not in _NOT_DECODED]


def is_image_file(path: Path) -> bool:
    """Whether a file is an image that Pillow decodes, whatever its name."""
    from PIL import Image

    try:
        with Image.open(path, formats=decoded_formats()):
            return True
    except Image.DecompressionBombError:  # an image that is very large
        return True
    except Exception:  # Pillow raises errors of many types for other files
        return False


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
