"""Images in files: decoded by several threads, brought to one shape."""

import operator
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ambilearn._utils.image_files import check_pixel_range, eight_bits, open_image
from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import pluralize, shorten_list, shorten_repr
from ambilearn._utils.warnings import warn_user

LARGEST_SIDE = 224  # pixels of images whose size is chosen here
_COLOR_MODES = {"RGB", "RGBA", "P", "CMYK", "YCbCr", "LAB", "HSV", "PA", "RGBX", "RGBa"}


def is_list_of_files(X: Any) -> bool:
    """Whether X is a list, array or column of file names."""
    if hasattr(X, "to_pylist") and not hasattr(X, "shape"):  # a column of PyArrow
        X = np.asarray(X)
    if hasattr(X, "shape"):
        if len(X.shape) not in (1, 2) or (len(X.shape) == 2 and X.shape[1] != 1):
            return False
        X = np.asarray(X).ravel()
    elif not isinstance(X, (list, tuple)):
        return False
    first = next((name for name in X if not is_missing(name)), None)
    return isinstance(first, (str, os.PathLike))


@dataclass(frozen=True)
class ImageFiles:
    """Image files, read as arrays of one shape.

    Larger or smaller images are scaled so that they cover the shape, and cropped at their center.

    ``image_shape`` is (c, h, w): one channel for gray images, three for color.
    """

    paths: list[str]
    image_shape: tuple[int, ...]

    @classmethod
    def of(
        cls, X: Any, image_shape: tuple[int, ...] | None = None, image_size: Any = None
    ) -> "ImageFiles":
        """Check that all files can be opened, and choose the shape or size if it is not given."""
        names = np.asarray(X, dtype=object).ravel().tolist()
        for i, name in enumerate(names):
            if not isinstance(name, (str, os.PathLike)) or name == "":
                raise ValueError(
                    f"Row {i} of X is {shorten_repr(name)}, which is not the name of a file."
                )
        paths = [os.fspath(name) for name in names]
        found = _map_images(_inspect, range(len(paths)), paths)
        sizes, modes, largest = map(list, zip(*found, strict=True))
        if image_shape is None:
            n_channels = 3 if any(mode in _COLOR_MODES for mode in modes) else 1
            size = _choose_size(sizes) if image_size is None else _check_size(image_size)
            image_shape = (n_channels, *size)
            _warn_of_unused_bits([value for value in largest if value is not None])
        if image_shape[0] == 3:
            _warn_of_gray(paths, modes)
        return cls(paths, image_shape)

    def read(self, index: Sequence[int]) -> Tensor:
        """The images of some rows, uint8 of shape (k, c, h, w)."""
        decode = partial(_decode, shape=self.image_shape)
        images = _map_images(decode, index, [self.paths[i] for i in index])
        return torch.from_numpy(np.stack(images))


def _map_images(function: Callable[..., Any], rows: Sequence[int], paths: list[str]) -> list[Any]:
    """Call a function with each row and path, in threads; an error lists the unreadable images."""

    def attempt(row: int, path: str) -> Any:
        try:
            return function(row, path)
        except ValueError as error:
            return error

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(attempt, rows, paths))
    errors = {i: each for i, each in enumerate(found) if isinstance(each, ValueError)}
    if errors:
        first, *others = errors
        also = ""
        if others:
            listed = shorten_list([rows[i] for i in others], 5)
            also = f" {pluralize(len(others), 'further row')} of X cannot be read: {listed}."
        raise ValueError(f"{errors[first]}{also}") from errors[first]
    return found


def _check_size(image_size: Any) -> tuple[int, int]:
    try:
        height, width = map(operator.index, np.broadcast_to(image_size, 2).tolist())
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise ValueError(
            f"image_size must be a side or a pair (height, width) in pixels; got {image_size!r}."
        )
    return height, width


def _choose_size(sizes: list[tuple[int, int]]) -> tuple[int, int]:
    """Height and width for images of the given (width, height)."""
    if len(set(sizes)) == 1 and max(sizes[0]) <= LARGEST_SIDE:
        return sizes[0][1], sizes[0][0]
    side = min(LARGEST_SIDE, int(np.median([min(size) for size in sizes])))
    return side, side


def _warn_of_gray(paths: list[str], modes: list[str]) -> None:
    gray = [i for i, mode in enumerate(modes) if mode not in _COLOR_MODES]
    if gray and len(gray) < len(modes):
        warn_user(
            f"X has color and gray images: {len(gray):,} of {len(modes):,} are gray, the first in "
            f"row {gray[0]} ({paths[gray[0]]}). Gray images are read as color images."
        )


def _warn_of_unused_bits(largest: list[int]) -> None:
    """Warn if the 16-bit images use at most 12 bits, most of which are lost in 8 bits."""
    if largest and 0 < max(largest) < 2**12:
        warn_user(
            f"The largest value in the 16-bit images ({len(largest):,}) is {max(largest)}, so they "
            "are read as almost black. If the values use fewer bits, as is common for cameras and "
            "microscopes, pass arrays instead of files."
        )


def _inspect(row: int, path: str) -> tuple[tuple[int, int], str, int | None]:
    """Width and height, as the image is shown, mode, and largest value if it has 16 bits."""
    with open_image(row, path) as image:
        turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        width, height = image.size
        check_pixel_range(image)
        largest = int(image.getextrema()[1]) if image.mode.startswith("I") else None
        return ((height, width) if turned else (width, height)), image.mode, largest


def _decode(row: int, path: str, shape: tuple[int, ...]) -> Any:
    from PIL import Image, ImageOps

    n_channels, height, width = shape
    with open_image(row, path) as image:
        upright = eight_bits(ImageOps.exif_transpose(image))
        upright = upright.convert("RGB" if n_channels == 3 else "L")
    if upright.size != (width, height):
        upright = ImageOps.fit(upright, (width, height), Image.Resampling.BICUBIC)
    pixels = np.array(upright, dtype=np.uint8)
    return pixels.transpose(2, 0, 1) if n_channels == 3 else pixels[None]


def to_plain_mode(image: Any) -> Any:
    """A Pillow image whose values are gray values or colors: no palette, no transparency."""
    is_plain = image.mode in ("1", "L", "RGB") and "transparency" not in image.info
    if is_plain or image.mode == "F" or image.mode.startswith("I"):
        return image
    return eight_bits(image).convert("L" if image.mode in ("1", "L", "LA") else "RGB")
