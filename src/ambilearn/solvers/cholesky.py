"""Cholesky factors of a kernel matrix plus a multiple of the identity.

SciPy's own functions hold the interpreter for the whole computation, so that a server in the same
process cannot answer. Here the same LAPACK routines are called through ctypes, which releases it.
"""

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_lapack, solve_triangular

from ambilearn.solvers.result import not_positive_definite

if TYPE_CHECKING:
    from ambilearn.solvers.blocked_cholesky import BlockedFactor

_Matrix = NDArray[np.float64]


def _python_function(name: str, result: Any, *arguments: Any) -> Any:
    """Function of the C API. Those of ``ctypes.pythonapi`` are shared with other libraries."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_name_of = _python_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer_of = _python_function(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)


def _find(name: str) -> Any:
    """The routine as a function of pointers."""
    capsule = cython_lapack.__pyx_capi__[name]
    signature = _name_of(capsule)
    types = [ctypes.c_void_p] * (signature.count(b",") + 1)
    return ctypes.CFUNCTYPE(None, *types)(_pointer_of(capsule, signature))


_potrf, _potrs, _trtri = map(_find, ("dpotrf", "dpotrs", "dtrtri"))


def _call(routine: Any, *arguments: bytes | int | _Matrix) -> int:
    """Call a routine; return its ``info``, zero if it succeeded."""
    values = [_to_c(each) for each in (*arguments, 0)]
    routine(*map(ctypes.byref, values))
    return int(values[-1].value)


def _to_c(value: bytes | int | _Matrix) -> Any:
    """A letter, an integer, or the first number of a matrix."""
    if isinstance(value, bytes):
        return ctypes.c_char(value)
    if isinstance(value, int):
        return ctypes.c_int(value)
    return ctypes.c_double.from_address(value.ctypes.data)


# LAPACK in SciPy uses 32-bit indices: a larger matrix crashes the process.
_MAX_LAPACK_ROWS = 46_340
_COLUMNS_AT_ONCE = 64  # columns of the inverse factor that are squared at once


class LapackFactor(NamedTuple):
    """A lower Cholesky factor in column order; entries above the diagonal are arbitrary."""

    lower: NDArray[np.float64]

    def solve(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""The product :math:`(LL^\top)^{-1} C` with columns *C* of shape (n, c)."""
        n = len(self.lower)
        solved = np.array(columns, dtype=np.float64, order="F")
        _call(_potrs, b"L", n, solved.shape[1], self.lower, n, solved, n)
        return solved

    def solve_lower(self, columns: _Matrix) -> _Matrix:
        r"""The product :math:`L^{-1} C` with columns *C* of shape (n, c)."""
        return solve_triangular(self.lower, columns, lower=True, check_finite=False)

    def solve_upper(self, columns: _Matrix) -> _Matrix:
        r"""The product :math:`L^{-\top} C` with columns *C* of shape (n, c)."""
        how = {"lower": True, "trans": "T", "check_finite": False}
        return solve_triangular(self.lower, columns, **how)

    def inverse_diagonal(self) -> NDArray[np.float64]:
        r"""The diagonal of :math:`(LL^\top)^{-1}`, shape (n,)."""
        n, inverse = len(self.lower), self.lower.copy(order="F")
        _call(_trtri, b"L", b"N", n, inverse, n)
        diagonal = np.empty(n)
        for first in range(0, n, _COLUMNS_AT_ONCE):
            block = slice(first, first + _COLUMNS_AT_ONCE)
            # Entries above the diagonal are not part of the factor.
            corner, below = np.tril(inverse[block, block]), inverse[block.stop :, block]
            diagonal[block] = np.einsum("ij,ij->j", corner, corner)
            diagonal[block] += np.einsum("ij,ij->j", below, below)
        return diagonal


def factorize_by_lapack(
    matrix: NDArray[np.float64], ridge: float, overwrite: bool = False
) -> "LapackFactor | BlockedFactor":
    """Cholesky factor of ``matrix + ridge * I`` for NumPy arrays.

    With ``overwrite`` the factor may overwrite the matrix. It is blocked if the matrix is too large
    for SciPy's LAPACK. Raises LinAlgError if the sum is not positive definite.
    """
    if len(matrix) > _MAX_LAPACK_ROWS:
        from ambilearn.solvers.blocked_cholesky import factorize_by_blocks

        return factorize_by_blocks(matrix, ridge, overwrite)
    if not matrix.flags.f_contiguous:
        matrix = matrix.T  # equal because the matrix is symmetric, and in LAPACK's column order
    make = np.asarray if overwrite else np.array
    matrix = make(matrix, dtype=np.float64, order="F")
    matrix[np.diag_indices_from(matrix)] += ridge
    n = len(matrix)
    info = _call(_potrf, b"L", n, matrix, n)
    if info:  # the order of the leading minor
        raise not_positive_definite(ridge, info)
    return LapackFactor(matrix)
