"""The Gaussian kernel on a device.

On the processor, :mod:`ambilearn.kernel.functions` finishes blocks in place while they are in the
cache, by NumPy's ``out=``. The array API standard has no such thing; here each large block is one
expression that is written into the matrix, which is the only one of its size.
"""

from typing import Any

from array_api_compat import array_namespace, device

from ambilearn._utils.blocks import array_blocks


def squared_distances(X: Any, Z: Any) -> Any:
    """Squared distances of the rows of X to those of Z, shape (n, m); zero on X's own diagonal."""
    xp = array_namespace(X)
    squared = xp.empty((X.shape[0], Z.shape[0]), dtype=X.dtype, device=device(X))
    # Around the mean, because the product below cancels badly far from the origin.
    center = xp.mean(Z, axis=0)
    own = X is Z
    Z = Z - center
    X = Z if own else X - center
    x_norms, z_norms = xp.sum(X * X, axis=1)[:, None], xp.sum(Z * Z, axis=1)
    others = xp.matrix_transpose(Z)
    for rows in array_blocks(squared, squared.shape[1]):
        block = xp.matmul(X[rows, :], others)
        block *= -2.0
        block += x_norms[rows, :]
        block += z_norms
        squared[rows, :] = xp.clip(block, min=0.0)
    if own:
        clear_diagonal(squared)
    return squared


def clear_diagonal(matrix: Any) -> None:
    """Zeros on the diagonal, in place; by small blocks, the standard has no way to a diagonal."""
    xp, n = array_namespace(matrix), matrix.shape[0]
    step = min(1024, n)
    others = 1.0 - xp.eye(step, dtype=matrix.dtype, device=device(matrix))
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        size = rows.stop - first
        matrix[rows, rows] *= others[:size, :size]


def mean_root(squared: Any) -> float:
    """Mean distance over all pairs of different rows; 1 where they all coincide."""
    xp, n = array_namespace(squared), squared.shape[0]
    blocks = array_blocks(squared, squared.shape[1])
    total = sum(float(xp.sum(xp.sqrt(squared[rows, :]))) for rows in blocks)
    return total / (n * (n - 1)) or 1.0


def exponential(squared: Any, sigma: float) -> None:
    """exp(−squared / 2σ²), in place."""
    xp = array_namespace(squared)
    for rows in array_blocks(squared, squared.shape[1]):
        squared[rows, :] = xp.exp(squared[rows, :] * (-0.5 / sigma**2))
