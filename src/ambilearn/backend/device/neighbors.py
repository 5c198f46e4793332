"""Neighbors on a device: distances, products and votes, in large blocks."""

from collections.abc import Iterator

from array_api_compat import array_namespace, device

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.device.blocks import device_blocks
from ambilearn.backend.ties import without_rounding


def unit_rows(X: Matrix) -> Array:
    """Rows scaled to unit length; zero rows stay zero."""
    xp = array_namespace(X)
    norms = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
    return X / xp.where(norms == 0, 1.0, norms)


def _members(X: Matrix, Z: Matrix, neighbor_indices: Array) -> Iterator[tuple[Array, Array]]:
    """Each row of X, shape (rows, 1, d), and its neighbors in Z, (rows, k, d), block by block."""
    xp = array_namespace(X)
    k, d = neighbor_indices.shape[1], X.shape[1]
    for rows in device_blocks(X.shape[0], 2 * k * d):
        taken = xp.take(Z, xp.reshape(neighbor_indices[rows, :], (-1,)), axis=0)
        yield X[rows, None, :], xp.reshape(taken, (-1, k, d))


def neighbor_distances(X: Matrix, Z: Matrix, neighbor_indices: Array) -> Array:
    """Distances of the rows of X to their neighbors in Z, shape (n, k)."""
    xp, parts = array_namespace(X), []
    for row, taken in _members(X, Z, neighbor_indices):
        difference = row - taken
        distances = xp.sqrt(xp.sum(difference * difference, axis=2))
        lengths = xp.sqrt(xp.sum(row * row, axis=2))
        parts.append(without_rounding(distances, lengths))
    return xp.concat(parts)


def neighbor_products(X: Matrix, Z: Matrix, neighbor_indices: Array) -> Array:
    """Inner products of each row of X and its neighbors in Z, shape (n, k + 1, k + 1)."""
    xp = array_namespace(X)
    both = (xp.concat(each, axis=1) for each in _members(X, Z, neighbor_indices))
    return xp.concat([xp.matmul(each, xp.matrix_transpose(each)) for each in both])


def difference_grams(Z: Matrix, neighbor_indices: Array) -> Array:
    """Gram matrices of the differences of each row of Z to its neighbors, shape (n, k, k)."""
    xp = array_namespace(Z)
    differences = (row - taken for row, taken in _members(Z, Z, neighbor_indices))
    return xp.concat([xp.matmul(each, xp.matrix_transpose(each)) for each in differences])


def squared_residuals(weights: Array, products: Array, labels: Array, n_labels: int) -> Array:
    """Squared distance of each row to its reconstruction from neighbors of one label, (n, l)."""
    # Summed over each label by a product: the array API cannot write to the labels' columns.
    xp = array_namespace(weights)
    together = xp.astype(labels[:, :, None] == labels[:, None, :], weights.dtype)
    inner = weights[:, :, None] * products[:, 1:, 1:] * weights[:, None, :]
    xv = weights * products[:, 1:, 0]
    own = xp.sum(together * inner, axis=2) - 2 * xv  # summed over a label: −2x'v + v'v
    one_hot = labels[:, :, None] == xp.arange(n_labels, device=device(labels))
    gains = xp.matmul(own[:, None, :], xp.astype(one_hot, weights.dtype))[:, 0, :]
    return products[:, :1, 0] + gains


def count_votes(neighbor_indices: Array, weights: Array, table: Array) -> Array:
    """Weighted sums of the neighbors' rows of a vote table, shape (n, l)."""
    xp = array_namespace(weights)
    (n, k), l = weights.shape, table.shape[1]
    parts = []
    for rows in device_blocks(n, k * l):
        taken = xp.take(table, xp.reshape(neighbor_indices[rows, :], (-1,)), axis=0)
        taken = xp.reshape(taken, (-1, k, l))
        parts.append(xp.matmul(weights[rows, None, :], taken)[:, 0, :])
    return xp.concat(parts)
