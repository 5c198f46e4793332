"""Cholesky factors of a kernel matrix plus a multiple of the identity."""

from types import ModuleType
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from ambilearn._utils.types import Matrix
from ambilearn.solvers.blocked_cholesky import BlockedFactor, factor_in_place
from ambilearn.solvers.lapack import factorize_in_place, invert_factor, solve_by_factor

# LAPACK in SciPy uses 32-bit indices: a larger matrix crashes the process.
_MAX_LAPACK_ROWS = 46_340
_COLUMNS_AT_ONCE = 64  # columns of the inverse factor that are squared at once


class LapackFactor(NamedTuple):
    """A lower Cholesky factor in LAPACK's format; entries above the diagonal are arbitrary."""

    lower: NDArray[np.float64]

    def solve(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""The product :math:`(LL^\top)^{-1} C` with columns *C* of shape (n, c)."""
        return solve_by_factor(self.lower, columns)

    def inverse_diagonal(self) -> NDArray[np.float64]:
        r"""The diagonal of :math:`(LL^\top)^{-1}`, shape (n,)."""
        inverse = invert_factor(self.lower)
        diagonal = np.empty(len(inverse))
        for first in range(0, len(inverse), _COLUMNS_AT_ONCE):
            block = slice(first, first + _COLUMNS_AT_ONCE)
            # Entries above the diagonal are not part of the factor.
            corner, below = np.tril(inverse[block, block]), inverse[block.stop :, block]
            diagonal[block] = np.einsum("ij,ij->j", corner, corner)
            diagonal[block] += np.einsum("ij,ij->j", below, below)
        return diagonal


def factorize_by_lapack(
    matrix: NDArray[np.float64], ridge: float, overwrite: bool = False
) -> LapackFactor | BlockedFactor:
    """Cholesky factor of ``matrix + ridge * I`` for NumPy arrays.

    With ``overwrite`` the factor may overwrite the matrix. It is blocked if the matrix is too large
    for SciPy's LAPACK. Raises LinAlgError if the sum is not positive definite.
    """
    if len(matrix) > _MAX_LAPACK_ROWS:
        return factorize_by_blocks(matrix, ridge, overwrite)
    if not matrix.flags.f_contiguous:
        matrix = matrix.T  # equal because the matrix is symmetric, and in LAPACK's column order
    make = np.asarray if overwrite else np.array
    matrix = make(matrix, dtype=np.float64, order="F")
    matrix[np.diag_indices_from(matrix)] += ridge
    info = factorize_in_place(matrix)
    if info:
        raise _not_positive_definite(ridge, info)
    return LapackFactor(matrix)


def factorize_by_blocks(matrix: Matrix, ridge: float, overwrite: bool = False) -> BlockedFactor:
    """As :func:`factorize_by_lapack`, for arrays of any library."""
    xp = array_namespace(matrix)
    matrix = matrix if overwrite else xp.asarray(matrix, copy=True)
    _add_to_diagonal(xp, matrix, ridge)
    try:
        return factor_in_place(matrix)
    except ArithmeticError as error:
        raise _not_positive_definite(ridge, error.args[0]) from error


def _add_to_diagonal(xp: ModuleType, matrix: Matrix, value: float) -> None:
    """Add to the diagonal in place, by blocks: the array API has no access to the diagonal."""
    step = min(1024, matrix.shape[0])
    identity = value * xp.eye(step, dtype=matrix.dtype, device=device(matrix))
    for first in range(0, matrix.shape[0], step):
        rows = slice(first, min(first + step, matrix.shape[0]))
        size = rows.stop - first
        matrix[rows, rows] += identity[:size, :size]


def _not_positive_definite(ridge: float, minor: int) -> Exception:
    return np.linalg.LinAlgError(
        f"The kernel matrix plus {ridge:g} on its diagonal is not positive definite (leading "
        f"minor {minor}): the kernel is not positive semi-definite, or the ridge weight `reg` is "
        "too small for the scale of the features. Raise `reg`, scale the features, or use another "
        "kernel."
    )
