"""Embed local images in the review page: unchanged, reduced, or rejected with a reason."""

import base64
import io
import warnings
from enum import StrEnum
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from ambilearn._utils.image_files import NOT_FOUND, OUTSIDE, decoded_formats
from ambilearn._utils.optional import requires_extra

MAX_EMBEDDED_SIDE = 640  # pixels: enough to recognize an image, and small enough for many
MAX_EMBEDDED_BYTES = 2**24  # of a file that is embedded unchanged

UNCHANGED = {"AVIF", "BMP", "GIF", "JPEG", "PNG", "WEBP"}  # Pillow's names of what browsers show

SVG = "http://www.w3.org/2000/svg"
# Elements that contain or load other documents. Browsers ignore them in an image, but not in a
# document, which the image becomes when it is opened in a tab of its own.
ACTIVE_ELEMENTS = {"script", "foreignobject", "handler", "listener", "iframe", "object", "embed"}


class Problem(StrEnum):
    """Why an image is not shown; the page writes "image" before it."""

    NOT_FOUND = NOT_FOUND
    OUTSIDE = OUTSIDE
    UNREADABLE = "cannot be read"
    ACTIVE = "has scripts or links"
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


def embed_image(path: Path) -> Shown:
    """Address that contains an image (see :func:`read_image`), or the problem."""
    found = read_image(path)
    if isinstance(found, Problem):
        return Shown(problem=found)
    encoded = base64.b64encode(found.content).decode()
    return Shown(f"data:{found.media_type};base64,{encoded}")


def read_image(path: Path) -> ImageContent | Problem:
    """Content of an image that is safe to show, or the problem.

    A large image is reduced; one in a format that browsers do not show is converted. An SVG file is
    accepted if it is a drawing without scripts and links.
    """
    with requires_extra("cli", purpose="A review page with images"):
        import PIL.Image  # noqa: F401

    try:
        if path.suffix.lower() == ".svg":
            return _read_svg(path)
        with warnings.catch_warnings(action="ignore"):
            return _read_pixels(path)
    except Exception:  # Pillow's plugins raise errors of any class for damaged files
        return Problem.UNREADABLE


def _read_pixels(path: Path) -> ImageContent:
    from PIL import Image, ImageOps

    with Image.open(path, formats=decoded_formats()) as image:
        small = max(image.size) <= MAX_EMBEDDED_SIDE
        if small and image.format in UNCHANGED and path.stat().st_size <= MAX_EMBEDDED_BYTES:
            return ImageContent(path.read_bytes(), Image.MIME[image.format])
        image.thumbnail((MAX_EMBEDDED_SIDE, MAX_EMBEDDED_SIDE))
        upright = ImageOps.exif_transpose(image)
    buffer = io.BytesIO()
    mode = "RGBA" if upright.has_transparency_data else "RGB"
    upright.convert(mode).save(buffer, "WEBP", quality=85)
    return ImageContent(buffer.getvalue(), "image/webp")


def _read_svg(path: Path) -> ImageContent | Problem:
    if path.stat().st_size > MAX_EMBEDDED_BYTES:
        return Problem.TOO_LARGE
    content = path.read_bytes()
    try:
        _check_svg(content)
    except _ActiveSvgError:
        return Problem.ACTIVE
    return ImageContent(content, "image/svg+xml")


class _ActiveSvgError(Exception):
    """An SVG file that can run scripts or load other files when it is opened as a document."""


def _check_svg(content: bytes) -> None:
    """Raise an error if this is not an SVG drawing, or if it has scripts or links."""
    parser = expat.ParserCreate(namespace_separator=" ")

    def check_root(name: str, attributes: dict[str, str]) -> None:
        if name != f"{SVG} svg":
            raise ValueError(f"The root element is {name}.")
        parser.StartElementHandler = check_element
        check_element(name, attributes)

    def check_element(name: str, attributes: dict[str, str]) -> None:
        if _local(name) in ACTIVE_ELEMENTS or any(starmap(_is_active, attributes.items())):
            raise _ActiveSvgError

    def reject(*_: Any) -> None:
        raise _ActiveSvgError

    parser.StartElementHandler = check_root
    parser.EntityDeclHandler = reject  # nested entities can expand to gigabytes
    parser.ProcessingInstructionHandler = reject  # style sheets, which may be programs
    parser.Parse(content, True)


def _local(name: str) -> str:
    """Name of an element or attribute in lower case, without its namespace."""
    return name.rpartition(" ")[2].lower()


def _is_active(attribute: str, value: str) -> bool:
    """Whether an attribute is an event handler, or a link out of the drawing."""
    attribute, value = _local(attribute), value.strip().lower()
    if attribute in ("href", "src"):
        return not value.startswith(("#", "data:image/")) or value.startswith("data:image/svg")
    return attribute.startswith("on") or "javascript:" in value
