"""Read a partial-label data set from a MATLAB 5–7.2 file, and check it.

Such files have the variables ``data`` (rows × features), ``partial_target`` (candidates) and
``target`` (true labels); the last two are usually labels × rows, dense or sparse.

SciPy's reader does not check the sizes in a file, and a few wrong bytes crash the interpreter.
Data files come from untrusted sources, and only real matrices, dense and sparse, are needed: this
part of the format [1]_ is small, and is read here with NumPy alone. Every size is checked before it
is used.

References
----------
.. [1] The MathWorks, *MAT-File Format*, sections on level 5 MAT-files.
"""

import math
import os
import struct
import zlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.types import Array, Matrix
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.registry import Dataset

_VARIABLES = ("data", "partial_target", "target")
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


class _RejectedError(Exception):
    """Why the file is rejected, without its name."""


class _DamagedError(Exception):
    """Why the file is damaged."""


def read_mat(
    path: str | os.PathLike[str], *, name: str | None = None, max_bytes: int = 2**30
) -> Dataset:
    """Read a partial-label data set from a ``.mat`` file.

    Both orientations of each matrix are supported, and labels may be dense or sparse. The file is
    checked: it has only numbers, the sizes agree, and each row has exactly one true label, which
    is among its candidates. Nothing in the file is executed.

    Parameters
    ----------
    path : path-like
        MATLAB 5–7.2 file with ``data`` and at least one of ``partial_target`` and ``target``.
    name : str, optional
        Name of the data set; by default the name of the file.
    max_bytes : int, default=2**30
        Largest size in memory. A larger file is rejected before it is unpacked.

    Returns
    -------
    Dataset
        With labels ``0 … n_labels - 1``.

    Raises
    ------
    InvalidFileError
        If a check fails; the message names the file, the variable and the row.

    Examples
    --------
    >>> import os, tempfile
    >>> from scipy.io import savemat
    >>> from ambilearn.datasets import read_mat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tiny.mat")
    ...     savemat(path, {"data": [[0.5, 1.0], [2.0, 0.0], [1.0, 3.0]],
    ...                    "partial_target": [[1, 1, 0], [1, 0, 1]],
    ...                    "target": [[1, 1, 0], [0, 0, 1]]})
    ...     data = read_mat(path)
    >>> data
    <Dataset tiny: 3 rows, 2 features, 2 labels, 1.33 candidates per row>
    >>> data.candidates.to_sets()
    [{0, 1}, {0}, {1}]
    """
    path = Path(path)
    variables = _load_matrices(path, max_bytes)
    data = variables.pop("data")
    shapes = {key: matrix.shape for key, matrix in variables.items()}
    if len(set(shapes.values())) > 1:
        raise InvalidFileError(
            f"{path}: partial_target and target differ in size: {shapes}. Both need one column per "
            "sample and one row per label."
        )
    shape = next(iter(shapes.values()))
    # The usual orientation comes first: it is chosen if several are possible.
    turns = [
        (turn_data, turn_labels)
        for turn_data in (False, True)
        for turn_labels in (True, False)
        if data.shape[turn_data] == shape[turn_labels]
    ]
    if not turns:
        raise InvalidFileError(
            f"{path}: the sizes do not agree: data is {data.shape}, the labels are {shape}. Each "
            "sample needs one row in data and one column in the labels."
        )
    problems = []
    for turn_data, turn_labels in turns:
        matrices = {key: m.T if turn_labels else m for key, m in variables.items()}
        try:
            candidates, y = _parse_labels(path, matrices)
        except InvalidFileError as problem:
            problems.append(problem)
            continue
        return Dataset(
            X=_parse_features(path, data.T if turn_data else data),
            candidates=candidates,
            y=y,
            classes=np.arange(shape[not turn_labels]),
            name=name or path.stem,
            source=str(path),
        )
    raise problems[0]


def _parse_labels(
    path: Path, matrices: dict[str, Matrix]
) -> tuple[CandidateSets | None, NDArray[np.intp] | None]:
    """Candidate sets and true labels of matrices that have one row per sample."""
    sets = {}
    for key, matrix in matrices.items():
        mask = sparse.csr_array(matrix)
        # as_candidates would read other numbers as weights.
        other = np.flatnonzero((mask.data != 0) & (mask.data != 1))
        if len(other):
            row = int(np.searchsorted(mask.indptr, other[0], side="right")) - 1
            raise InvalidFileError(
                f"{path}: {key} is not 0/1: row {row} has the value {mask.data[other[0]]}. Correct "
                "the file, or download it again."
            )
        try:
            # Results are dense, even if the file stores a sparse mask.
            sets[key] = replace(as_candidates(mask), sparse_mask=False)
        except ValueError as error:
            raise InvalidFileError(f"{path}: {key}: {error}") from error
    candidates, truth = sets.get("partial_target"), sets.get("target")
    if truth is None:
        return candidates, None
    several = np.flatnonzero(truth.sizes != 1)
    if len(several):
        raise InvalidFileError(
            f"{path}: target has more than one true label in row {several[0]}. Mark one, or rename "
            "the matrix to partial_target if these are candidates."
        )
    if candidates is not None:
        outside = np.flatnonzero(~candidates.covers(truth.labels))
        if len(outside):
            raise InvalidFileError(
                f"{path}: the true label {truth.labels[outside[0]]} of row {outside[0]} is not "
                "among its candidates. Mark it in partial_target too, or drop the row."
            )
    return candidates, truth.labels


def _parse_features(path: Path, data: Matrix) -> NDArray[np.float64]:
    X = np.ascontiguousarray(data.toarray() if sparse.issparse(data) else data, dtype=np.float64)
    wrong = np.argwhere(~np.isfinite(X))
    if len(wrong):
        i, j = wrong[0]
        raise InvalidFileError(
            f"{path}: data has the value {X[i, j]} in row {i}, column {j}. Fill it in, or drop the "
            "row."
        )
    return X


def _load_matrices(path: Path, max_bytes: int) -> dict[str, Matrix]:
    found = read_matrices(path, _VARIABLES, max_bytes)
    if "data" not in found or len(found) == 1:
        raise InvalidFileError(
            f"{path} must have the variables `data` and `partial_target` or `target`; it has "
            f"{sorted(found) or 'none of them'}. Rename the variables."
        )
    for key, matrix in found.items():
        if 0 in matrix.shape:
            raise InvalidFileError(
                f"{path}: `{key}` is empty (size {matrix.shape}). Each matrix needs at least one "
                "row and one column."
            )
    return found


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
    except (_DamagedError, zlib.error, struct.error) as problem:
        raise InvalidFileError(
            f"{path} is damaged: {problem}. Download it again, or save it again in MATLAB with "
            "`save -v7`."
        ) from problem


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
