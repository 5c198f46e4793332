"""Neighbors on a device: exact search, distances, products and votes, in large blocks.

The k smallest entries of a row lie in the k groups of columns with the smallest minima. So one pass
finds the minimum of every group, a selection among these finds the groups, and only their entries
are examined again. The final distances are computed from differences, as on the CPU.
"""

from collections.abc import Iterator
from types import ModuleType

from array_api_compat import array_namespace, device, is_cupy_namespace, is_torch_namespace

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.device_arrays import device_blocks
from ambilearn.backend.ties import (
    EXTRA_NEIGHBORS,
    nearest_first,
    nearest_places,
    zero_if_coincident,
)


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
        parts.append(zero_if_coincident(distances, lengths))
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


_GROUP = 32  # columns in a group


class DeviceSearch:
    """Exact search among rows on a device."""

    def __init__(self, X: Matrix) -> None:
        self._X = X

    def nearest(self, queries: Matrix | None, k: int) -> Array:
        """Indices of the k nearest rows of each query, or of the k nearest others.

        More neighbors than wanted are proposed, to detect ties for the last place.
        """
        X = self._X
        xp, where = array_namespace(X), device(X)
        n = X.shape[0]
        asked = X if queries is None else queries
        wanted = min(k + EXTRA_NEIGHBORS + (queries is None), n)
        # Rows at infinite distance pad the last group.
        group = _GROUP if n >= _GROUP * wanted else 1
        n_groups = -(-n // group)
        center = xp.mean(X, axis=0)
        padding = xp.zeros((n_groups * group - n, X.shape[1]), dtype=X.dtype, device=where)
        Z = xp.concat([X - center, padding])
        far = xp.full((padding.shape[0],), xp.inf, dtype=X.dtype, device=where)
        norms = xp.concat([xp.sum(Z[:n, :] * Z[:n, :], axis=1), far])
        others = xp.matrix_transpose(Z)
        parts, ties = [], []
        for rows in device_blocks(asked.shape[0], n_groups * group):
            # Without the row's own square, which does not change the order.
            squared = xp.matmul((asked[rows, :] - center) * -2.0, others)
            squared += norms
            found = _smallest(xp, squared, wanted, n_groups, group)
            own = None if queries is not None else xp.arange(rows.start, rows.stop, device=where)
            distances = _distances_to_others(xp, X, asked[rows, :], found, own)
            places, tied = nearest_places(distances, k)
            parts.append(xp.take_along_axis(found, places, axis=1))
            ties.append(tied)
        nearest, tied = xp.concat(parts), xp.concat(ties)
        if wanted < n and xp.any(tied):
            return _compare_all(xp, X, asked, nearest, tied, queries is None)
        return nearest


def _smallest(xp: ModuleType, squared: Array, wanted: int, n_groups: int, group: int) -> Array:
    """Columns of the smallest entries of each row, ascending."""
    where, n_rows = device(squared), squared.shape[0]
    if group == 1:
        return xp.sort(smallest_places(xp, squared, wanted), axis=1)
    # Group g has the columns g, g + n_groups, …: adjacent columns belong to different groups.
    least = xp.min(xp.reshape(squared, (n_rows, group, n_groups)), axis=1)
    groups = smallest_places(xp, least, wanted)
    steps = xp.arange(group, device=where) * n_groups
    columns = xp.reshape(groups[:, :, None] + steps, (n_rows, -1))
    values = xp.take_along_axis(squared, columns, axis=1)
    return xp.sort(xp.take_along_axis(columns, smallest_places(xp, values, wanted), axis=1), axis=1)


def _distances_to_others(
    xp: ModuleType, X: Matrix, asked: Array, found: Array, own: Array | None
) -> Array:
    """Distances to the rows found; infinite to the rows' own numbers, where they have some."""
    distances = neighbor_distances(asked, X, found)
    return distances if own is None else xp.where(found == own[:, None], xp.inf, distances)


def _compare_all(
    xp: ModuleType, X: Matrix, asked: Array, nearest: Array, tied: Array, others_only: bool
) -> Array:
    """The nearest, where ties extend beyond the proposed neighbors by comparison with all rows."""
    (n, k), everyone = nearest.shape, xp.arange(X.shape[0], device=device(X))
    (numbers,) = xp.nonzero(tied)
    parts = [nearest]
    for block in device_blocks(numbers.shape[0], X.shape[0] * X.shape[1]):
        own = numbers[block]
        found = xp.broadcast_to(everyone[None, :], (own.shape[0], X.shape[0]))
        rows = xp.take(asked, own, axis=0)
        distances = _distances_to_others(xp, X, rows, found, own if others_only else None)
        parts.append(nearest_first(distances)[:, :k])
    # The array API cannot write to some rows: they are appended and taken from there.
    behind = n - 1 + xp.cumulative_sum(xp.astype(tied, xp.int64))
    place = xp.where(tied, behind, xp.arange(n, device=device(X)))
    return xp.take(xp.concat(parts), place, axis=0)


def smallest_places(xp: ModuleType, values: Matrix, k: int) -> Array:
    """Positions of the k smallest entries of each row, in any order."""
    if k >= values.shape[1]:
        k = values.shape[1]
    if is_torch_namespace(xp):
        return values.topk(k, dim=1, largest=False, sorted=False).indices
    if is_cupy_namespace(xp):
        return xp.argpartition(values, k - 1, axis=1)[:, :k]
    return xp.argsort(values, axis=1)[:, :k]
