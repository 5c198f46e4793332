"""Sparse matrices from the user: consistent, of numbers, and in canonical form."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Matrix


def check_sparse(matrix: Matrix, name: str) -> None:
    """Raise if a sparse matrix is inconsistent, or is not a matrix of real numbers.

    SciPy checks the arrays of a sparse matrix only when it makes one, and accesses memory outside
    of them if they are inconsistent.
    """
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} is a sparse array with {pluralize(matrix.ndim, 'dimension')} instead of rows "
            f"and columns: pass {name}.toarray(), or reshape it."
        )
    try:
        _MAKE_AGAIN[matrix.format](matrix)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise ValueError(
            f"{name} is a damaged sparse matrix ({matrix.format}): {error}. Rebuild it from its "
            "entries, for instance with scipy.sparse.coo_array((values, (rows, columns)))."
        ) from error
    if matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is a sparse matrix with entries of type {matrix.dtype}, not real numbers: "
            f"convert it, for instance with {name}.astype(float)."
        )


def _make_compressed(matrix: Matrix) -> None:
    """Make a CSR, CSC or BSR matrix of the same arrays, which SciPy checks."""
    indptr = _signed(matrix.indptr)
    if (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr must be a non-decreasing sequence")
    block = matrix.data.shape[1:] if matrix.format == "bsr" else ()
    if any(size % part for size, part in zip(matrix.shape, block, strict=False)):
        raise ValueError(f"blocks of the shape {block} do not fill the shape {matrix.shape}")
    parts = matrix.data, _signed(matrix.indices), indptr
    type(matrix)(parts, shape=matrix.shape).check_format()


def _make_coo(matrix: Matrix) -> None:
    sparse.coo_array((matrix.data, tuple(map(_signed, matrix.coords))), shape=matrix.shape)


def _make_dia(matrix: Matrix) -> None:
    sparse.dia_array((matrix.data, matrix.offsets), shape=matrix.shape)


def _make_lil(matrix: Matrix) -> None:
    if not all(isinstance(row, list) for row in chain(matrix.rows, matrix.data)):
        raise ValueError("a row has no list of columns and of values")
    sizes = list(map(len, matrix.rows))
    if len(sizes) != matrix.shape[0] or sizes != list(map(len, matrix.data)):
        raise ValueError("its lists of columns and of values have different lengths")
    columns = _signed(list(chain.from_iterable(matrix.rows)))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=matrix.shape)


def _make_dok(matrix: Matrix) -> None:
    rows, columns = _signed(list(matrix.keys())).reshape(-1, 2).T
    sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=matrix.shape)


def _signed(indices: Array | Sequence[Any]) -> NDArray[np.int_]:
    indices = np.asarray(indices)
    if indices.size and indices.dtype.kind != "i":
        raise ValueError(f"an index is of type {indices.dtype}, which is not a signed integer")
    return indices.astype(np.intp) if not indices.size else indices


_MAKE_AGAIN: dict[str, Callable[[Matrix], None]] = {
    "csr": _make_compressed,
    "csc": _make_compressed,
    "bsr": _make_compressed,
    "coo": _make_coo,
    "dia": _make_dia,
    "lil": _make_lil,
    "dok": _make_dok,
}


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
