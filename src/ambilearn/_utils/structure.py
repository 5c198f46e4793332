"""Structure of arrays and tables: damaged sparse matrices, masked arrays, names of columns.

SciPy does not check the arrays of a sparse matrix, and accesses memory outside of them if they are
inconsistent. NumPy functions ignore masks.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Matrix


def check_structure(values: Matrix, name: str) -> None:
    """Raise if a sparse matrix is inconsistent or an array has masked entries.

    Every input that can be sparse or masked is checked here before it is used. Anything neither
    sparse nor masked is valid. ``name`` is the name in error messages, such as ``"X"``.

    >>> from scipy import sparse
    >>> X = sparse.eye_array(3, format="csr")
    >>> check_structure(X, "X")
    >>> X.indices[1] = 7
    >>> check_structure(X, "X")
    Traceback (most recent call last):
    ...
    ValueError: X is a damaged sparse matrix (csr): it has a column index of 7, outside 0 … 2. ...
    """
    if issparse(values):
        _check_sparse(values, name)
    elif isinstance(values, np.ma.MaskedArray):
        _check_not_masked(np.ma.getmaskarray(values), name)
    elif isinstance(values, (list, tuple)):
        for i, row in enumerate(values):
            if isinstance(row, np.ma.MaskedArray) and row is not np.ma.masked:  # a missing value
                _check_not_masked(np.ma.getmaskarray(row), f"Row {i} of {name}")


def canonical_rows(X: Matrix) -> Any:
    """Sparse matrix as canonical CSR: sorted columns, no duplicate entries; copied only if needed.

    Norms and products of rows are wrong if an entry is stored in two parts. The cached flags of the
    matrix are ignored because it may have been changed since. Unused space after the last entry is
    removed.
    """
    X = X.tocsr()
    X = type(X)(X)  # shares the arrays, but not the cached flags
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _check_not_masked(mask: NDArray[np.bool_], name: str) -> None:
    if mask.any():
        place = [int(i) for i in np.argwhere(mask)[0]]
        raise ValueError(
            f"{name} is a masked array with {int(mask.sum())} of {mask.size} entries masked, the "
            f"first at {place}; the mask would be ignored. Drop such rows or fill them, for "
            "instance features with X.filled(numpy.nan) and sklearn.impute.SimpleImputer."
        )


def _check_sparse(matrix: Matrix, name: str) -> None:
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


def column_names(table: Any) -> list[Any] | None:
    """Names of the columns of a table of pandas, polars or pyarrow; None if it has no names."""
    # The columns of a pyarrow table are arrays. The class is checked, because a table of pandas has
    # its columns as attributes, and one of them may have this name.
    is_pyarrow = hasattr(type(table), "column_names")
    names = getattr(table, "column_names" if is_pyarrow else "columns", None)
    return None if names is None else list(names)
