"""Rows of all forms that a network learns from, and their batches on the device."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.limits import row_blocks
from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import Array
from ambilearn.deep.image_files import ImageFiles, is_list_of_files, to_plain_mode

Reader = Callable[[Sequence[int]], Tensor]


@dataclass(frozen=True)
class DeepRows:
    """Checked rows: held in memory, or read when a batch needs them.

    ``shape`` has the number of rows first, then (d,) for a matrix or (c, h, w) for images. ``read``
    returns the rows of given numbers as one tensor. ``unit`` is the stored value that ``normalize``
    counts as 1: 255 if the user's type is ``uint8``.
    """

    shape: tuple[int, ...]
    held: Tensor | None = None
    read: Reader | None = None
    unit: float = 1.0

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def are_images(self) -> bool:
        """Whether the rows are images."""
        return len(self.shape) == 4

    @property
    def are_bytes(self) -> bool:
        """Whether the entries are integers from 0 to 255."""
        first = self.held if self.read is None else self.read([0])
        return first is not None and first.dtype == torch.uint8

    def to(self, device: torch.device) -> "DeepRows":
        """The same rows in the memory of the device, if they take less than half of it."""
        held = self.held
        if held is None:
            return self
        if device.type == "cuda" and held.nbytes >= 0.5 * torch.cuda.mem_get_info(device)[0]:
            return self
        return replace(self, held=held.to(device))

    def take(self, index: Tensor) -> "DeepRows":
        """Some of the rows."""
        held = self.batch(index, torch.device("cpu"))
        return replace(self, shape=tuple(held.shape), held=held, read=None)

    def batch(self, index: Tensor, device: torch.device) -> Tensor:
        """Some rows as they are stored, on the device."""
        if self.held is not None:
            return self.held[index.to(self.held.device)].to(device, non_blocking=True)
        assert self.read is not None
        return self.read(index.tolist()).to(device, non_blocking=True)


def _fits_in_memory(n_bytes: int) -> bool:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        total = 2**33
    return n_bytes < total / 4


def is_matrix(X: Any) -> bool:
    """Whether X is a table of numbers, and not images, files or a dataset."""
    if is_list_of_files(X) or _is_dataset(X):
        return False
    items = _items(X)
    if items is None:
        return len(getattr(X, "shape", ())) < 3
    try:
        return not items or np.ndim(items[0]) < 2
    except ValueError:  # lists of different lengths: the checks of a matrix have a message
        return True


def _items(X: Any) -> list[Any] | None:
    """The items of a list, tuple or object array; None for another form."""
    of_objects = getattr(getattr(X, "dtype", None), "kind", None) == "O" and len(X.shape) == 1
    return list(X) if of_objects or isinstance(X, (list, tuple)) else None


def check_form(X: Any) -> Any:
    """X, a tensor as an array; an error if rows could be made of it, but not by DeepPLCL."""
    if isinstance(X, (str, os.PathLike)):
        raise TypeError(f"X is a single path, {str(X)!r}. Pass a list of file names.")
    if isinstance(X, torch.utils.data.DataLoader):
        raise TypeError("X is a DataLoader: pass its dataset, X.dataset, instead.")
    if isinstance(X, torch.utils.data.IterableDataset):
        raise TypeError("X is an IterableDataset: pass a dataset with __len__ and __getitem__.")
    return to_host_array(X) if isinstance(X, Tensor) else X


def _is_dataset(X: Any) -> bool:
    """Whether X is a dataset, or a list of its items, as scikit-learn makes it for a fold."""
    if isinstance(X, list) and X and isinstance(X[0], (tuple, list)) and X[0]:
        first = X[0][0]
        is_array = hasattr(first, "__array__") or hasattr(first, "__array_interface__")  # Pillow
        # A list of arrays of one shape is an image or a matrix.
        shapes = {getattr(part, "shape", None) for part in X[0]}
        is_row = isinstance(X[0], list) and len(shapes) == 1 and None not in shapes
        return is_array and np.ndim(first) > 0 and not is_row
    return isinstance(X, torch.utils.data.Dataset)


def check_rows(
    X: Any,
    image_size: Any = None,
    row_shape: tuple[int, ...] | None = None,
    learned_bytes: bool | None = None,
) -> DeepRows:
    """Rows of images, files or a PyTorch dataset.

    Images have the shape (n, h, w), (n, h, w, c) or (n, c, h, w). Files are scaled to
    ``row_shape``, the shape of the rows of an earlier fit, or to ``image_size``, by default chosen
    from the files. Integers from 0 to 255 are stored as bytes, unless ``learned_bytes`` is False:
    then the images of the earlier fit had other values, and only ``uint8`` stays as it is.
    """
    if is_list_of_files(X):
        if row_shape is not None and (len(row_shape) != 3 or row_shape[0] not in (1, 3)):
            raise ValueError(
                f"X is a list of files, but DeepPLCL was fitted to rows of shape {row_shape}, "
                "which files do not have. Pass an array."
            )
        files = ImageFiles.of(X, row_shape, image_size)
        shape = (len(files.paths), *files.image_shape)
        return _read_ahead(DeepRows(shape, read=files.read, unit=255.0))
    if _is_dataset(X):
        return _read_ahead(_dataset_rows(X, learned_bytes))
    return _check_images(X, learned_bytes, is_fit=row_shape is None)


def _read_ahead(rows: DeepRows) -> DeepRows:
    """Read all rows now, if they fit in memory: the images are then decoded only once."""
    assert rows.read is not None
    first = rows.read([0])
    if not _fits_in_memory(first.nbytes * len(rows)):
        return rows
    held = torch.empty(rows.shape, dtype=first.dtype)
    for block in row_blocks(len(rows), first.numel()):
        held[block] = rows.read(range(block.start, block.stop))
    return replace(rows, held=held, read=None)


def _dataset_rows(dataset: Any, learned_bytes: bool | None) -> DeepRows:
    def item(i: int) -> Tensor:
        row = dataset[i]
        array = to_host_array(row[0] if isinstance(row, (tuple, list)) else row)
        if array.ndim not in (1, 2, 3) or 0 in array.shape:
            raise ValueError(
                f"Item {i} of the dataset has shape {array.shape}: items must be vectors or "
                "images, alone or first in a tuple."
            )
        if array.dtype.kind not in "buif":
            raise ValueError(
                f"Item {i} of the dataset has entries of type {array.dtype}: rows consist of "
                "numbers."
            )
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        array = _as_stored(array, bool(learned_bytes))  # in a fit, only uint8 is certain
        return to_tensor(array if array.ndim == 1 else _channels_first(array[None])[0])

    if len(dataset) == 0:
        raise ValueError("The dataset has 0 items, while a minimum of 1 is required.")
    first = item(0)

    def read(index: Sequence[int]) -> Tensor:
        found = [item(i) for i in index]
        for i, value in zip(index, found, strict=True):
            if value.shape != first.shape or value.dtype != first.dtype:
                raise ValueError(
                    f"Item {i} of the dataset is {value.dtype} of shape {tuple(value.shape)}, but "
                    f"item 0 is {first.dtype} of shape {tuple(first.shape)}: all must be the same."
                )
            _check_finite(value[None], i)
        return torch.stack(found)

    unit = 255.0 if first.dtype == torch.uint8 else 1.0
    return DeepRows((len(dataset), *first.shape), read=read, unit=unit)


def _check_images(X: Any, learned_bytes: bool | None, *, is_fit: bool) -> DeepRows:
    check_structure(X, "X")
    items = _items(X)
    array = _stack(items) if items else to_host_array(X)
    if array.dtype == object and array.ndim > 2:
        array = np.array(array.tolist())  # whole numbers stay whole, and may be bytes
    if array.ndim not in (3, 4) or 0 in array.shape:
        hint = " Pass [X] if X is a single image." if array.ndim in (0, 2) else ""
        raise ValueError(
            f"X has shape {array.shape}: images are arrays of shape (n, h, w), (n, h, w, c) or "
            f"(n, c, h, w), with at least one image.{hint}"
        )
    if array.dtype.kind not in "buif":
        raise ValueError(f"X has entries of type {array.dtype}: images consist of numbers.")
    if is_fit and array.dtype.itemsize > 4:
        _check_resolution(array)
    images = to_tensor(_channels_first(_as_stored(array, learned_bytes)))
    _check_finite(images, 0)
    return DeepRows(tuple(images.shape), images, unit=255.0 if array.dtype == np.uint8 else 1.0)


def to_host_array(X: Any) -> Array:
    """X, a tensor, an image of Pillow or an array-like, as an array of NumPy.

    A tensor may be on a device, have a gradient or be bfloat16.
    """
    if isinstance(X, Tensor):
        X = X.detach().cpu()
        X = X.float() if X.dtype == torch.bfloat16 else X  # NumPy has no bfloat16
    elif hasattr(X, "getbands"):
        X = to_plain_mode(X)
    return np.asarray(X)


def _stack(images: list[Any]) -> Array:
    arrays: list[Array] = []
    for i, image in enumerate(images):
        try:
            array = to_host_array(image)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Row {i} of X is not an image: {error}") from error
        if array.ndim == 0:
            raise ValueError(f"Row {i} of X is not an image, but {shorten_repr(image)}.")
        arrays.append(array)
        first = arrays[0]
        if array.shape != first.shape:
            raise ValueError(
                f"Row {i} of X is an image of shape {array.shape}, but row 0 has shape "
                f"{first.shape}. Scale or crop the images to one shape, or pass a list of "
                "their files, which are scaled and cropped."
            )
        if (array.dtype.kind == "f") != (first.dtype.kind == "f"):  # often of other ranges, too
            raise ValueError(
                f"Row {i} of X is an image of type {array.dtype}, but row 0 has type "
                f"{first.dtype}. Convert the images to the same type and range."
            )
    return np.stack(arrays)


def _as_stored(array: Array, learned_bytes: bool | None) -> Array:
    may_be_bytes = array.dtype.kind in "iu" and learned_bytes is not False
    if array.dtype == np.uint8 or (may_be_bytes and array.min() >= 0 and array.max() <= 255):
        return array.astype(np.uint8, copy=False)
    with np.errstate(over="ignore"):  # reported by _check_finite
        return array.astype(np.float32)


def _check_resolution(array: Array) -> None:
    """Raise an error if few of the values are different in single precision."""
    low, high = float(array.min()), float(array.max())
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values are reported elsewhere
        step = float(np.spacing(np.float32(max(abs(low), abs(high)))))
    if 0 < high - low < 100 * step:
        raise ValueError(
            f"The values of X are between {low!r} and {high!r}, where float32 has fewer than 100 "
            "distinct values. Subtract their mean, and divide them by their standard deviation."
        )


def _channels_first(array: Array) -> Array:
    """Images of shape (n, c, h, w). The channels are the smaller of two dimensions, or the last."""
    if array.ndim == 3:
        array = array[:, None]
    elif array.shape[3] <= array.shape[1]:
        array = array.transpose(0, 3, 1, 2)
    return array


def to_tensor(array: Array) -> Tensor:
    """The array as a tensor; copied if it is read-only, which tensors cannot be."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _check_finite(values: Tensor, first_row: int) -> None:
    if values.is_floating_point():
        bad = ~torch.isfinite(values).flatten(1).all(1)
        if bad.any():
            row = first_row + int(bad.nonzero()[0])
            raise ValueError(
                "Input X contains NaN, infinity or a number too large for float32: row "
                f"{row} has such an entry."
            )
