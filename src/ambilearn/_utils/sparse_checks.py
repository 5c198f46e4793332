"""Damaged sparse matrices.

SciPy does not check the arrays of a sparse matrix, and accesses memory outside of them if they are
inconsistent.
"""

from collections.abc import Callable
from itertools import chain

import numpy as np

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Matrix


def check_sparse(matrix: Matrix, name: str) -> None:
    """Raise if a sparse matrix is inconsistent, or is not a matrix of real numbers."""
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} is a sparse array with {pluralize(matrix.ndim, 'dimension')} instead of rows "
            f"and columns: pass {name}.toarray(), or reshape it."
        )
    if fault := _DESCRIBE_DAMAGED[matrix.format](matrix):
        raise ValueError(
            f"{name} is a damaged sparse matrix ({matrix.format}): {fault}. Rebuild it from its "
            "entries, for instance with scipy.sparse.coo_array((values, (rows, columns)))."
        )
    if matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is a sparse matrix with entries of type {matrix.dtype}, not real numbers: "
            f"convert it, for instance with {name}.astype(float)."
        )


def _describe_damaged_compressed(matrix: Matrix) -> str | None:
    """Fault of a CSR, CSC or BSR matrix; None if it is valid."""
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    block = data.shape[1:] if matrix.format == "bsr" else (1, 1)
    if data.ndim != (3 if matrix.format == "bsr" else 1):
        return f"its values have {pluralize(data.ndim, 'dimension')}"
    if 0 in block or any(size % part for size, part in zip(matrix.shape, block, strict=True)):
        return f"blocks of the shape {block} do not fill the shape {matrix.shape}"
    sizes = [
        (size // part, kind) for size, part, kind in zip(matrix.shape, block, _AXES, strict=True)
    ]
    if matrix.format == "csc":
        sizes.reverse()
    (n_spans, _), (n_places, kind) = sizes
    if indptr.shape != (n_spans + 1,):
        return f"its indptr has the shape {indptr.shape} instead of ({n_spans + 1},)"
    if fault := _describe_damaged_indices(indptr, "an entry of indptr", len(data) + 1):
        return fault
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return "its indptr does not start with 0, or decreases"
    if indices.shape != data.shape[:1]:
        return f"it has {indices.size} {kind} indices for {len(data)} values"
    # Space after the last entry is unused.
    return _describe_damaged_indices(indices[: indptr[-1]], f"a {kind} index", n_places)


def _describe_damaged_coo(matrix: Matrix) -> str | None:
    for indices, kind, size in zip(matrix.coords, _AXES, matrix.shape, strict=True):
        if indices.shape != matrix.data.shape:
            return f"it has {indices.size} {kind} indices for {matrix.data.size} values"
        if fault := _describe_damaged_indices(indices, f"a {kind} index", size):
            return fault
    return None


def _describe_damaged_dia(matrix: Matrix) -> str | None:
    data, offsets = matrix.data, matrix.offsets
    if data.ndim != 2 or offsets.shape != data.shape[:1]:
        return f"it has {offsets.size} offsets for {len(data)} diagonals"
    if len(set(offsets.tolist())) < len(offsets):
        return "it has a duplicate diagonal"
    return None


def _describe_damaged_lil(matrix: Matrix) -> str | None:
    n_rows, n_columns = matrix.shape
    if not len(matrix.rows) == len(matrix.data) == n_rows:
        return f"it has {len(matrix.rows)} lists of columns and {len(matrix.data)} of values"
    for i, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if not isinstance(columns, list) or not isinstance(values, list):
            return f"row {i} has no list of columns and of values"
        if len(columns) != len(values):
            return f"row {i} has {len(columns)} column indices for {len(values)} values"
    every = np.array(list(chain.from_iterable(matrix.rows)))
    return _describe_damaged_indices(every, "a column index", n_columns)


def _describe_damaged_dok(matrix: Matrix) -> str | None:
    places = list(matrix.keys())
    for axis, (kind, size) in enumerate(zip(_AXES, matrix.shape, strict=True)):
        every = np.array([place[axis] for place in places])
        if fault := _describe_damaged_indices(every, f"a {kind} index", size):
            return fault
    return None


def _describe_damaged_indices(indices: Array, what: str, size: int) -> str | None:
    if not indices.size:
        return None
    if indices.dtype.kind != "i":
        return f"{what} is of type {indices.dtype}, which is not a signed integer"
    for extreme in (int(indices.min()), int(indices.max())):
        if not 0 <= extreme < size:
            return f"it has {what} of {extreme}, outside 0 … {size - 1}"
    return None


_AXES = ("row", "column")
_DESCRIBE_DAMAGED: dict[str, Callable[[Matrix], str | None]] = {
    "csr": _describe_damaged_compressed,
    "csc": _describe_damaged_compressed,
    "bsr": _describe_damaged_compressed,
    "coo": _describe_damaged_coo,
    "dia": _describe_damaged_dia,
    "lil": _describe_damaged_lil,
    "dok": _describe_damaged_dok,
}
