"""Check the size of arrays and JSON in a model file before memory is allocated for them."""

import io
import math
from typing import Any
from zipfile import ZipFile

import numpy as np
from scipy import sparse

from ambilearn.tables.errors import InvalidModelError

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def check_unpacked_size(archive: ZipFile, max_bytes: int) -> None:
    """Raise an error if the members of an archive need more than ``max_bytes`` in memory."""
    size = sum(member.file_size for member in archive.infolist())
    if size > max_bytes:
        raise InvalidModelError(
            f"needs {size} bytes in memory, more than max_bytes={max_bytes}. If you trust the "
            "file, raise max_bytes of load_model in Python."
        )


# Upper bounds of the bytes that Python needs for an object, a list, an item and an entry, without
# their text.
_JSON_COSTS = {b"{": 240, b"[": 96, b",": 64, b":": 120}


def estimate_json_size(content: bytes) -> int:
    """Upper bound of the memory for objects built from JSON: three bytes, ``{},``, become 72.

    >>> estimate_json_size(b"[{},{}]")
    696
    """
    # A character needs up to four bytes in the whole text, and again in the parsed strings.
    return 8 * len(content) + sum(cost * content.count(sign) for sign, cost in _JSON_COSTS.items())


def check_json_size(content: bytes, max_bytes: int) -> None:
    """Raise an error for JSON from which more than ``max_bytes`` in memory could be built."""
    size = estimate_json_size(content)
    if size > max_bytes:
        raise InvalidModelError(
            f"describes objects of up to {size} bytes, more than max_bytes={max_bytes}. If you "
            "trust the file, raise max_bytes of load_model in Python."
        )


def check_array(archive: ZipFile, name: str, max_bytes: int) -> None:
    """Raise InvalidModelError for an array whose content does not match its header.

    The member of the archive is an array of NumPy (``.npy``), or a sparse one of SciPy (``.npz``),
    which is an archive of arrays itself. It must not unpack to more than ``max_bytes``. A sparse
    array must not have indices out of range, which compiled code does not check.
    """
    if name.endswith(".npz"):
        content = archive.read(name)
        with ZipFile(io.BytesIO(content)) as inner:
            check_unpacked_size(inner, max_bytes)
            for inner_name in inner.namelist():
                check_array(inner, inner_name, max_bytes)
        sparse.load_npz(io.BytesIO(content)).check_format(full_check=True)
        return
    with archive.open(name) as member:
        shape, dtype = _read_header(member)
        announced = math.prod(shape) * dtype.itemsize
        found = archive.getinfo(name).file_size - member.tell()
    if dtype.hasobject or announced != found:
        raise InvalidModelError(
            f"the array {name} should have {announced} bytes and has {found}: the file is damaged "
            "or was changed. Fit the model again."
        )


def _read_header(member: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    shape, _, dtype = _HEADERS[version](member)
    return shape, dtype
