"""Cholesky routines of LAPACK during which other threads run.

SciPy's own functions hold the interpreter for the whole computation, so that a server in the same
process cannot answer. Here the same routines are called through ctypes, which releases it.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_lapack

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


def factorize_in_place(matrix: _Matrix) -> int:
    """Replace a matrix by its lower Cholesky factor; entries above the diagonal stay.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric, in column order (``order="F"``).

    Returns
    -------
    info : int
        Zero, or the order of the leading minor that is not positive definite.
    """
    n = len(matrix)
    return _call(_potrf, b"L", n, matrix, max(n, 1))


def solve_by_factor(lower: _Matrix, columns: NDArray[Any]) -> _Matrix:
    r"""The product :math:`(LL^\top)^{-1} C` with columns *C* of shape (n, c)."""
    n = len(lower)
    lower = np.asarray(lower, dtype=np.float64, order="F")
    solved = np.array(columns, dtype=np.float64, order="F")
    _call(_potrs, b"L", n, solved.shape[1], lower, max(n, 1), solved, max(n, 1))
    return solved


def invert_factor(lower: _Matrix) -> _Matrix:
    """The inverse of a lower triangle; entries above the diagonal are arbitrary."""
    n = len(lower)
    inverse = np.array(lower, dtype=np.float64, order="F")
    _call(_trtri, b"L", b"N", n, inverse, max(n, 1))
    return inverse
