"""Image files: find the file that a cell of a table names, and open it with Pillow."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ambilearn._utils.text import requires_extra

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


@contextmanager
def open_image(row: int, path: str | Path) -> Iterator[Any]:
    """An open image. Errors name the row and the file; Pillow raises them also after opening."""
    with requires_extra("deep", purpose="Reading images"):
        from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=decoded_formats()) as image:
            yield image
    except MemoryError:  # not a problem of the file
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        if isinstance(error, UnidentifiedImageError):
            reason = "it is damaged, or of a format that Pillow does not read"
        raise ValueError(
            f"Row {row}: the image {path} cannot be read: {reason}. Replace the file, or leave the "
            "row out."
        ) from error


def check_pixel_range(image: Any) -> None:
    """Raise an error if the value of a white pixel is unknown."""
    if image.mode == "F":
        raise ValueError("its pixels are floating-point numbers, not 8 or 16 bits")
    if image.format == "TIFF" and image.mode == "I" and max(image.tag_v2.get(258, (1,))) > 16:
        raise ValueError("its pixels have more than 16 bits")


def eight_bits(image: Any) -> Any:
    """An opaque image of 8 bits per channel: Pillow clips larger values and drops transparency."""
    import numpy as np  # "ambilearn --help" does not need it
    from PIL import Image

    if image.mode.startswith("I"):
        pixels = np.asarray(image)
        if pixels.min() < 0 or pixels.max() > 65535:
            raise ValueError("its pixels have more than 16 bits")
        return Image.fromarray((pixels // 257).astype(np.uint8))
    if "A" in image.getbands() or "transparency" in image.info:
        on_white = Image.new("RGBA", image.size, "white")
        on_white.alpha_composite(image.convert("RGBA"))
        return on_white
    return image
