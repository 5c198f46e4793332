r"""Blocked in-place Cholesky factorization for devices, and solves with the factors.

A kernel matrix of 100 000 rows takes 75 GiB; a large GPU has 139 GiB. LAPACK factorizes NumPy
arrays in place, but array libraries for devices copy the matrix, which then does not fit. The
left-looking factorization by panels [1]_ works in place: nearly all of its arithmetic is one matrix
product per panel, and it allocates only one panel. It never reads entries above the diagonal.

References
----------
.. [1] Golub, Van Loan. Matrix Computations, 4th ed., section 4.2. Johns Hopkins, 2013.
"""

from types import ModuleType
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device, is_cupy_namespace

from ambilearn._utils.types import Array, Matrix
from ambilearn.solvers.result import not_positive_definite

_PANEL = 4096  # columns per panel: wide enough for matrix products at the full rate of the GPU
_TOLERANCE = 1e-12  # tolerance of conjugate gradients, relative to the right-hand side


class BlockedFactor(NamedTuple):
    """A lower Cholesky factor *L* on a device.

    Parameters
    ----------
    lower : array of shape (n, n)
        *L* below its diagonal blocks; entries above them are arbitrary.
    inverses : list of arrays
        The inverses of the diagonal blocks. With few right-hand sides, a product with the inverse
        runs more in parallel than a triangular solve.
    """

    lower: Array
    inverses: list[Array]

    def solve(self, columns: Array) -> Array:
        r"""The product :math:`(LL^\top)^{-1} C` with columns *C* of shape (n, c)."""
        return self.solve_upper(self.solve_lower(columns))

    def solve_lower(self, columns: Array, start: int = 0) -> Array:
        r"""The product :math:`L^{-1} C` with columns *C* of shape (n, c).

        The columns are zero above row ``start``, the first row of a panel.
        """
        xp = array_namespace(columns)
        solved = xp.asarray(columns, copy=True)
        for (first, end), inverse in zip(_panels(self.lower), self.inverses, strict=True):
            if first < start:
                continue
            block = solved[first:end, :]
            if first > start:
                left = self.lower[first:end, start:first]
                block = block - xp.matmul(left, solved[start:first, :])
            solved[first:end, :] = xp.matmul(inverse, block)
        return solved

    def solve_upper(self, columns: Array) -> Array:
        r"""The product :math:`L^{-\top} C` with columns *C* of shape (n, c)."""
        xp = array_namespace(columns)
        solved = xp.asarray(columns, copy=True)
        panels = list(zip(_panels(self.lower), self.inverses, strict=True))
        for (first, end), inverse in reversed(panels):
            block = solved[first:end, :]
            if end < self.lower.shape[0]:
                below = xp.matrix_transpose(self.lower[end:, first:end])
                block = block - xp.matmul(below, solved[end:, :])
            solved[first:end, :] = xp.matmul(xp.matrix_transpose(inverse), block)
        return solved

    def inverse_diagonal(self) -> Array:
        r"""The diagonal of :math:`(LL^\top)^{-1}`, shape (n,)."""
        xp, n = array_namespace(self.lower), self.lower.shape[0]
        parts = []
        for first, end in _panels(self.lower):
            columns = xp.zeros((n, end - first), dtype=self.lower.dtype, device=device(self.lower))
            columns[first:end, :] = xp.eye(
                end - first, dtype=self.lower.dtype, device=device(self.lower)
            )
            inverse = self.solve_lower(columns, start=first)
            parts.append(xp.sum(inverse * inverse, axis=0))
        return xp.concat(parts)


def factor_in_place(matrix: Matrix) -> BlockedFactor:
    """Lower Cholesky factor of a symmetric matrix, which is overwritten.

    Raises ArithmeticError if the matrix is not positive definite. Its argument is the order of a
    leading minor that is not positive, rounded up to a whole panel.
    """
    xp = array_namespace(matrix)
    inverses = []
    for first, end in _panels(matrix):
        if first:
            left = xp.matrix_transpose(matrix[first:end, :first])
            matrix[first:, first:end] -= xp.matmul(matrix[first:, :first], left)
        corner = _small_factor(xp, matrix[first:end, first:end], end)
        identity = xp.eye(end - first, dtype=matrix.dtype, device=device(matrix))
        inverses.append(_solve_lower_triangle(xp, corner, identity))
        if end < matrix.shape[0]:
            below = xp.matmul(matrix[end:, first:end], xp.matrix_transpose(inverses[-1]))
            matrix[end:, first:end] = below
    return BlockedFactor(matrix, inverses)


def factorize_by_blocks(matrix: Matrix, ridge: float, overwrite: bool = False) -> BlockedFactor:
    """As :func:`~ambilearn.solvers.factorize_by_lapack`, for arrays of any library."""
    xp = array_namespace(matrix)
    matrix = matrix if overwrite else xp.asarray(matrix, copy=True)
    _add_to_diagonal(xp, matrix, ridge)
    try:
        return factor_in_place(matrix)
    except ArithmeticError as error:
        raise not_positive_definite(ridge, error.args[0]) from error


def _add_to_diagonal(xp: ModuleType, matrix: Matrix, value: float) -> None:
    """Add to the diagonal in place, by blocks: the array API has no access to the diagonal."""
    step = min(1024, matrix.shape[0])
    identity = value * xp.eye(step, dtype=matrix.dtype, device=device(matrix))
    for first in range(0, matrix.shape[0], step):
        rows = slice(first, min(first + step, matrix.shape[0]))
        size = rows.stop - first
        matrix[rows, rows] += identity[:size, :size]


class ShiftedFactor(NamedTuple):
    r"""Solver for :math:`LL^\top + \delta I` that stores no factor other than *L*.

    For a second system that differs by a multiple of the identity, if the device has memory for
    only one factor. Conjugate gradients solve it, preconditioned by the first system [1]_. With
    :math:`y = L^\top x` the system is :math:`(I + \delta L^{-1} L^{-\top}) y = L^{-1} c`: a step
    takes two triangular solves, and for the ridge weights λ and λ/α the condition number is at most
    :math:`1/\alpha`.

    Parameters
    ----------
    factor : BlockedFactor or LapackFactor
        *L*.
    shift : float
        :math:`\delta`; the shifted matrix must be positive definite.

    References
    ----------
    .. [1] Nocedal, Wright. Numerical Optimization, 2nd ed., section 5.1. Springer, 2006.
    """

    factor: Any
    shift: float

    def solve(self, columns: Array, max_steps: int = 1000) -> Array:
        """Solution for right-hand sides of shape (n, c), with every column at full precision."""
        xp = array_namespace(columns)
        lower, upper = self.factor.solve_lower, self.factor.solve_upper
        residual = lower(columns)
        solved = xp.zeros_like(residual)
        direction = residual
        square = xp.sum(residual * residual, axis=0)
        enough = _TOLERANCE**2 * square
        for _ in range(max_steps):
            unsolved = square > enough
            if not xp.any(unsolved):
                break
            image = direction + self.shift * lower(upper(direction))
            # Columns that have converged, including zero columns, do not change.
            step = _ratio(xp, square, xp.sum(direction * image, axis=0), unsolved)
            solved = solved + step * direction
            residual = residual - step * image
            following = xp.sum(residual * residual, axis=0)
            direction = residual + _ratio(xp, following, square, unsolved) * direction
            square = following
        return upper(solved)


def _ratio(xp: ModuleType, above: Array, below: Array, where: Array) -> Array:
    return xp.where(where, above / xp.where(where, below, 1.0), 0.0)


def _panels(matrix: Matrix) -> list[tuple[int, int]]:
    n = matrix.shape[0]
    return [(first, min(first + _PANEL, n)) for first in range(0, n, _PANEL)]


def _small_factor(xp: ModuleType, corner: Array, end: int) -> Array:
    try:
        factor = xp.linalg.cholesky(corner)
    except Exception as error:  # every library has its own exception
        if "LinAlgError" in type(error).__name__:
            raise ArithmeticError(end) from error
        raise
    if not xp.all(xp.isfinite(xp.sum(factor))):  # CuPy raises nothing
        raise ArithmeticError(end)
    return factor


def _solve_lower_triangle(xp: ModuleType, triangle: Array, columns: Array) -> Array:
    """Triangular solve, which is not in the array API standard; falls back to a general solve."""
    if is_cupy_namespace(xp):
        from cupyx.scipy.linalg import solve_triangular

        return solve_triangular(triangle, columns, lower=True)
    if hasattr(xp.linalg, "solve_triangular"):
        return xp.linalg.solve_triangular(triangle, columns, upper=False)
    return xp.linalg.solve(triangle, columns)
