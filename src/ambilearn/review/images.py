"""Images of a table: which column names them, and what address finds them from the page."""

import base64
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from ambilearn._utils.optional import requires_extra

# What browsers show.
TYPES = {
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
MAX_EMBEDDED_SIDE = 640  # pixels: enough to recognise an image, and small enough for many


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
    return PurePosixPath(path.replace("\\", "/")).suffix.lower() in TYPES


def find_image_column(columns: Mapping[str, Sequence[str]]) -> str | None:
    """Name of the first column in which most filled cells look like images."""
    for name, cells in columns.items():
        filled = [cell for cell in cells if cell.strip()]
        if filled and 2 * sum(map(looks_like_image, filled)) > len(filled):
            return name
    return None


@dataclass
class Images:
    """Makes addresses for a page from what a table says.

    Parameters
    ----------
    table_folder : Path
        Where relative paths begin.
    page_folder : Path
        Where the page will be: local images are referred to from there.
    embed : bool, default=False
        Put local images into the page, made smaller if they are large.

    Attributes
    ----------
    missing : list of str
        What was asked for and could not be found, read or allowed.
    """

    table_folder: Path
    page_folder: Path
    embed: bool = False
    missing: list[str] = field(default_factory=list)

    def address(self, cell: str) -> str | None:
        """Address of an image, None if the cell is empty or no image can be had from it."""
        cell = cell.strip()
        if not cell:
            return None
        if _find_scheme(cell) in ("http", "https") or cell.lower().startswith("data:image/"):
            return cell
        path = self._local_path(cell)
        address = None
        if path is not None:
            address = _embed(path) if self.embed else self._refer_to(path)
        if path is None or address is None or not _is_file(path):
            self.missing.append(cell)
        return address

    def _local_path(self, cell: str) -> Path | None:
        if _find_scheme(cell) == "file":
            return Path(url2pathname(urlsplit(cell).path))
        path = self.table_folder / cell
        # javascript: and other addresses are no images, but a file may have such a name.
        return None if _find_scheme(cell) and not _is_file(path) else path

    def _refer_to(self, path: Path) -> str:
        try:
            relative = os.path.relpath(path, self.page_folder)
        except ValueError:  # another drive of Windows
            return path.absolute().as_uri()
        return quote(Path(relative).as_posix())  # quotes the colon: never taken for a scheme


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


def _embed(path: Path) -> str | None:
    """The image as an address that contains it, None if it is no image that can be read."""
    with requires_extra("cli", purpose="A review page with images"):
        from PIL import Image, ImageOps

    media_type = TYPES.get(path.suffix.lower())
    try:
        content = path.read_bytes()
        if media_type != "image/svg+xml":
            with Image.open(io.BytesIO(content)) as image:
                large = max(image.size) > MAX_EMBEDDED_SIDE
                if large or media_type is None:
                    smaller = ImageOps.exif_transpose(image)
                    smaller.thumbnail((MAX_EMBEDDED_SIDE, MAX_EMBEDDED_SIDE))
                    buffer = io.BytesIO()
                    smaller.convert("RGBA" if smaller.has_transparency_data else "RGB").save(
                        buffer, "WEBP", quality=85
                    )
                    content, media_type = buffer.getvalue(), "image/webp"
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
