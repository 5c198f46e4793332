"""Read numeric matrices from a MATLAB 5–7.2 file; every size is checked before it is used.

SciPy's reader does not check the sizes in a file, and a few wrong bytes crash the interpreter.
Data files come from untrusted sources, and only real matrices, dense and sparse, are needed: this
part of the format is small, and is read here with NumPy alone.

References
----------
.. [1] The MathWorks, *MAT-File Format*, sections on level 5 MAT-files.
"""

import math
import struct
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ambilearn._utils.types import Array, Matrix
from ambilearn.datasets.errors import InvalidFileError

_DTYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_INT32, _UINT32, _MATRIX, _COMPRESSED = 5, 6, 14, 15
_CLASSES = {
    0: "unknown", 1: "cell", 2: "struct", 3: "object", 4: "text", 5: "sparse", 16: "function",
    17: "opaque",
} | dict.fromkeys(range(18, 256), "unknown")  # 6 … 15 are numbers  # fmt: skip
_COMPLEX_FLAG = 0x0800
_HEAD = 1024  # bytes of a variable that contain its class, size and name


def read_matrices(path: Path, wanted: Collection[str], max_bytes: int) -> dict[str, Matrix]:
    """Read the wanted variables of a file: dense arrays and CSC arrays.

    Variables with other names are skipped. A wanted variable that is not a real matrix, or a file
    that unpacks to more than ``max_bytes``, raises :class:`InvalidFileError`.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(max_bytes + 1)  # limits what is read from a device
        if len(content) > max_bytes:
            raise _RejectedError(
                f"it is larger than max_bytes={max_bytes}. Raise max_bytes if you trust the file."
            )
        order = _read_byte_order(content)
        return _read_variables(memoryview(content), order, wanted, max_bytes)
    except _RejectedError as problem:
        raise InvalidFileError(f"{path}: {problem}") from problem
    except _DamagedError as problem:
        raise InvalidFileError(f"{path} is damaged: {problem}. {_ADVICE}") from problem
    except (zlib.error, struct.error) as problem:
        raise InvalidFileError(f"{path} is damaged ({problem}). {_ADVICE}") from problem


_ADVICE = "Download it again, or save it again in MATLAB with `save -v7`."


class _RejectedError(Exception):
    """Why the file is rejected, without its name."""


class _DamagedError(Exception):
    """Why the file is damaged."""


def _read_byte_order(content: bytes) -> str:
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None or struct.unpack(order + "H", content[124:126])[0] >> 8 != 1:
        raise _RejectedError(
            "not a MATLAB 5–7.2 file. (Files of version 7.3 are HDF5: save them again in MATLAB "
            "with `save -v7`.)"
        )
    return order


def _read_variables(
    content: memoryview, order: str, wanted: Collection[str], max_bytes: int
) -> dict[str, Matrix]:
    found, at, free_bytes = {}, 128, max_bytes
    while at < len(content):
        kind, body, at = _read_element(content, at, order)
        packed = body if kind == _COMPRESSED else None
        if packed is not None:  # the head has the name
            kind, body = _unpack_matrix(packed, order, _HEAD)
        if kind != _MATRIX:
            raise _DamagedError("it has elements that are not variables")
        variable = _describe(body, order)
        if variable.name in wanted:
            free_bytes -= 8 * math.prod(variable.shape)
            if free_bytes < 0:
                raise _RejectedError(
                    f"`{variable.name}` has {' × '.join(map(str, variable.shape))} numbers, more "
                    f"than max_bytes={max_bytes} allows. Raise max_bytes if you trust the file."
                )
            if packed is not None:
                body = _unpack_matrix(packed, order, max_bytes)[1]
            read = _read_sparse if variable.kind == "sparse" else _read_dense
            found[variable.name] = read(variable, body[variable.start :], order)
    return found


class _Variable(NamedTuple):
    """The head of a variable, and the position of its numbers."""

    name: str
    kind: str
    shape: tuple[int, ...]
    start: int


def _read_element(content: memoryview, at: int, order: str) -> tuple[int, memoryview, int]:
    """Type and payload of the element at a position, and the position of the next."""
    kind, size = struct.unpack_from(order + "II", content, at)
    if kind >> 16:  # a short element: size, type and up to four bytes in eight
        kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if size > 4:
            raise _DamagedError("a short element declares too many bytes")
    else:
        start = at + 8
        end = start + size + (0 if kind == _COMPRESSED else -size % 8)
    if start + size > len(content):
        raise _DamagedError("it ends in the middle of an element")
    return kind, content[start : start + size], end


def _unpack_matrix(packed: memoryview, order: str, limit: int) -> tuple[int, memoryview]:
    """Type and payload of a compressed variable, unpacked up to the limit."""
    content = zlib.decompressobj().decompress(packed, limit + 16)
    kind, size = struct.unpack_from(order + "II", content)
    return kind, memoryview(content)[8 : 8 + size]


def _describe(body: memoryview, order: str) -> _Variable:
    kind, flags, at = _read_element(body, 0, order)
    if kind != _UINT32 or len(flags) != 8:
        raise _DamagedError("a variable does not start with its class")
    word = struct.unpack(order + "II", flags)[0]
    mat_class = _CLASSES.get(word & 0xFF, "numbers")
    if mat_class == "opaque":  # has no size
        return _Variable("", mat_class, (), at)
    kind, sizes, at = _read_element(body, at, order)
    shape = tuple(_read_numbers(kind, sizes, order).tolist())
    if kind != _INT32 or not shape or min(shape) < 0:
        raise _DamagedError("a variable has no valid size")
    _, name, at = _read_element(body, at, order)
    if word & _COMPLEX_FLAG:
        mat_class = "complex"
    return _Variable(bytes(name).decode("latin-1"), mat_class, shape, at)


def _read_dense(variable: _Variable, body: memoryview, order: str) -> Array:
    name, mat_class, shape, _ = variable
    if mat_class != "numbers" or len(shape) != 2:
        raise _RejectedError(
            f"`{name}` must be a matrix of numbers; it is {mat_class} of size {shape}."
        )
    kind, payload, _ = _read_element(body, 0, order)
    values = _read_numbers(kind, payload, order)
    if values.size != math.prod(shape):
        raise _DamagedError(f"`{name}` has the size {shape} but {values.size} numbers")
    return values.reshape(shape, order="F")


def _read_sparse(variable: _Variable, body: memoryview, order: str) -> sparse.csc_array:
    kinds, parts, at = [], [], 0
    for _part in ("row of each value", "first value of each column", "values"):
        kind, payload, at = _read_element(body, at, order)
        kinds.append(kind)
        parts.append(_read_numbers(kind, payload, order))
    rows, starts, values = parts
    n_rows, n_columns = variable.shape if len(variable.shape) == 2 else (0, 0)
    # SciPy does not check all of this; a wrong index accesses memory outside the matrix.
    valid = kinds[:2] == [_INT32, _INT32] and len(starts) == n_columns + 1 and starts[0] == 0
    if valid:
        count = starts[-1]
        rows, values = rows[:count], values[:count]
        valid = (np.diff(starts) >= 0).all() and len(rows) == len(values) == count
        valid = valid and ((rows >= 0) & (rows < n_rows)).all()
    if not valid:
        raise _DamagedError(f"the sparse matrix `{variable.name}` has invalid indices")
    return sparse.csc_array((values, rows, starts), shape=variable.shape)


def _read_numbers(kind: int, payload: memoryview, order: str) -> Array:
    dtype = np.dtype(order + _DTYPES[kind]) if kind in _DTYPES else None
    if dtype is None or len(payload) % dtype.itemsize:
        raise _DamagedError("an array of numbers has another type or a wrong length")
    return np.frombuffer(payload, dtype).astype(dtype.newbyteorder("="))
