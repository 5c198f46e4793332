"""Inputs that cannot be used as they are: damaged or masked matrices, rows that are not numbers."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Matrix
from ambilearn._utils.warnings import ignoring


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


def check_not_masked(mask: NDArray[np.bool_], name: str) -> None:
    """Raise if entries of a masked array are masked."""
    if mask.any():
        place = [int(i) for i in np.argwhere(mask)[0]]
        raise ValueError(
            f"{name} is a masked array with {int(mask.sum())} of {mask.size} entries masked, the "
            f"first at {place}; the mask would be ignored. Drop such rows or fill them, for "
            "instance features with X.filled(numpy.nan) and sklearn.impute.SimpleImputer."
        )


def explain_unreadable(X: Matrix, error: Exception) -> None:
    """Raise an error with the first row that is not a row of numbers; return if there is none.

    The new error is a TypeError if ``error``, from the validation, is one.

    >>> explain_unreadable([[1.0, 2.0], [3.0, "red"]], ValueError())
    Traceback (most recent call last):
    ...
    ValueError: Row 1 of X is not a row of numbers (could not convert string to float: 'red'): ...
    """
    if sparse.issparse(X) or not _is_unreadable(X):
        return
    kind = TypeError if isinstance(error, TypeError) else ValueError
    sizes: list[int] = []
    for i, row in enumerate(np.atleast_1d(np.asarray(X, dtype=object))):
        try:
            sizes.append(np.asarray(row, dtype=np.float64).size)
        except (TypeError, ValueError, OverflowError) as cause:
            raise kind(
                f"Row {i} of X is not a row of numbers ({cause}): drop such features, or convert "
                "them to numbers, for instance with sklearn.preprocessing.OneHotEncoder."
            ) from error
        if sizes[i] != sizes[0]:
            raise kind(
                f"Row {i} of X has {sizes[i]} features but row 0 has {sizes[0]}: all rows must "
                "have the same number of features."
            ) from error


def _is_unreadable(X: Matrix) -> bool:
    """Whether NumPy cannot convert X to numbers; other problems are reported elsewhere."""
    try:
        with ignoring(Warning):  # about complex numbers
            np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return True
    return False
