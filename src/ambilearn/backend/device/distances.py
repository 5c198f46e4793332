"""Distances and the Gaussian kernel on a device.

The array API has no ``out=``: each large block is one expression, written into the only matrix of
its size.
"""

from array_api_compat import array_namespace, device

from ambilearn._utils.limits import device_blocks
from ambilearn._utils.types import Array, Matrix


def squared_distances(X: Matrix, Z: Matrix | None = None) -> Array:
    """Squared distances of the rows of X and Z; without Z of X and X, with a zero diagonal."""
    xp = array_namespace(X)
    own = Z is None or Z is X
    Z = X if Z is None else Z
    squared = xp.empty((X.shape[0], Z.shape[0]), dtype=X.dtype, device=device(X))
    # Centered, because the product below loses precision far from the origin.
    center = xp.mean(Z, axis=0)
    Z = Z - center
    X = Z if own else X - center
    x_norms, z_norms = xp.sum(X * X, axis=1)[:, None], xp.sum(Z * Z, axis=1)
    others = xp.matrix_transpose(Z)
    for rows in device_blocks(*squared.shape):
        block = xp.matmul(X[rows, :], others)
        block *= -2.0
        block += x_norms[rows, :]
        block += z_norms
        squared[rows, :] = xp.clip(block, min=0.0)
    if own:
        clear_diagonal(squared)
    return squared


def clear_diagonal(matrix: Matrix) -> None:
    """Set the diagonal to zero, in place and by small blocks: the array API cannot access it."""
    xp, n = array_namespace(matrix), matrix.shape[0]
    step = min(1024, n)
    others = 1.0 - xp.eye(step, dtype=matrix.dtype, device=device(matrix))
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        size = rows.stop - first
        matrix[rows, rows] *= others[:size, :size]


def mean_distance(squared: Array) -> float:
    """Mean of the off-diagonal distances, given their squares; 1 if all are zero."""
    xp, n = array_namespace(squared), squared.shape[0]
    blocks = device_blocks(*squared.shape)
    total = sum(float(xp.sum(xp.sqrt(squared[rows, :]))) for rows in blocks)
    return total / (n * (n - 1)) or 1.0


def gaussian(squared: Array, sigma: float) -> Array:
    """exp(−squared / 2σ²), in place."""
    xp = array_namespace(squared)
    for rows in device_blocks(*squared.shape):
        squared[rows, :] = xp.exp(squared[rows, :] * (-0.5 / sigma**2))
    return squared
