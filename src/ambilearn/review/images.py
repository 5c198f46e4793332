"""Images of a table for the page: found, linked, embedded or sent; or why they are not shown."""

import base64
import io
import os
import stat
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote

from ambilearn._utils.image_files import (
    NOT_FOUND,
    OUTSIDE,
    decoded_formats,
    find_image_file,
    find_scheme,
)
from ambilearn._utils.text import requires_extra

MAX_EMBEDDED_SIDE = 640  # pixels: enough to recognize an image, and small enough for many
MAX_EMBEDDED_BYTES = 2**24  # of a file that is embedded unchanged

_AT_ONCE = 2  # images that a server reads

UNCHANGED = {"AVIF", "BMP", "GIF", "JPEG", "PNG", "WEBP"}  # Pillow's names of what browsers show


class Problem(StrEnum):
    """Why an image is not shown; the page writes "image" before it."""

    NOT_FOUND = NOT_FOUND
    OUTSIDE = OUTSIDE
    UNREADABLE = "cannot be read"
    TOO_LARGE = "too large"
    REMOTE = "on another host"


class Shown(NamedTuple):
    """The address of an image, and why it cannot be shown; both None if there is no image."""

    address: str | None = None
    problem: Problem | None = None


class ImageContent(NamedTuple):
    """An image as a browser shows it."""

    content: bytes
    media_type: str


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


def embed_image(path: Path) -> Shown:
    """Address that contains an image (see :func:`read_image`), or the problem."""
    found = read_image(path)
    if isinstance(found, Problem):
        return Shown(problem=found)
    encoded = base64.b64encode(found.content).decode()
    return Shown(f"data:{found.media_type};base64,{encoded}")


def read_image(path: Path) -> ImageContent | Problem:
    """Content of an image, or the problem.

    A large image is reduced; one in a format that browsers do not show is converted. The page shows
    an SVG file as an image only: then a browser runs and loads nothing that it contains.
    """
    with requires_extra("cli", purpose="A review page with images"):
        import PIL.Image  # noqa: F401

    try:
        with _open_file(path) as file:
            if path.suffix.lower() == ".svg":
                if _size(file) > MAX_EMBEDDED_BYTES:
                    return Problem.TOO_LARGE
                return ImageContent(file.read(), "image/svg+xml")
            return _read_pixels(file)
    except Exception:  # Pillow's plugins raise errors of any class for damaged files
        return Problem.UNREADABLE


@contextmanager
def without_pillow_warnings() -> Iterator[None]:
    """Ignore warnings about damaged images. For the main thread: filters are for all threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield


class ImageCache:
    """Reads images, and keeps some of them while their files do not change.

    Few are read at the same time: a large one needs half a gigabyte until it is reduced.
    """

    def __init__(self, max_bytes: int = 2**26) -> None:
        self._max_bytes, self._n_bytes = max_bytes, 0
        self._kept: OrderedDict[Path, tuple[Any, ImageContent]] = OrderedDict()
        self._lock, self._places = threading.Lock(), threading.Semaphore(_AT_ONCE)

    def __call__(self, path: Path) -> ImageContent | None:
        """The image in a file; None if it cannot be shown."""
        try:
            status = os.lstat(path)
            if path.resolve() != path:  # replaced by a link, perhaps to another folder
                return None
        except OSError:
            return None
        state = status.st_ino, status.st_size, status.st_mtime_ns
        with self._lock:
            known, image = self._kept.get(path, (None, None))
            if known == state:
                self._kept.move_to_end(path)
                return image
        with self._places:
            found = read_image(path)
        if isinstance(found, Problem):
            return None
        with self._lock:
            self._forget(path)
            self._kept[path] = state, found
            self._n_bytes += len(found.content)
            while self._n_bytes > self._max_bytes:
                self._forget(next(iter(self._kept)))
        return found

    def _forget(self, path: Path) -> None:
        if path in self._kept:
            self._n_bytes -= len(self._kept.pop(path)[1].content)


def _open_file(path: Path) -> BinaryIO:
    """Open a regular file; neither wait for a pipe, nor follow a link that has just been made."""
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"):
        flags |= getattr(os, name, 0)
    file = os.fdopen(os.open(path.resolve(), flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is not a regular file.")
    return file


def _read_pixels(file: BinaryIO) -> ImageContent:
    from PIL import Image, ImageOps

    with Image.open(file, formats=decoded_formats()) as image:
        small = max(image.size) <= MAX_EMBEDDED_SIDE
        if small and image.format in UNCHANGED and _size(file) <= MAX_EMBEDDED_BYTES:
            image.load()  # a file that is not complete is not shown yet
            file.seek(0)
            return ImageContent(file.read(), Image.MIME[image.format])
        image.thumbnail((MAX_EMBEDDED_SIDE, MAX_EMBEDDED_SIDE))
        upright = ImageOps.exif_transpose(image)
    buffer = io.BytesIO()
    mode = "RGBA" if upright.has_transparency_data else "RGB"
    upright.convert(mode).save(buffer, "WEBP", quality=85)
    return ImageContent(buffer.getvalue(), "image/webp")


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size
