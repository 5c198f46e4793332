"""Exact neighbor search on a device: blocks of matrix products, and the smallest of each row.

The k smallest entries of a row lie in the k groups of columns with the smallest minima. So one pass
finds the minimum of every group, a selection among these finds the groups, and only their entries
are examined again. The final distances are computed from differences, as on the CPU.
"""

from typing import Any

from array_api_compat import (
    array_namespace,
    device,
    is_cupy_namespace,
    is_torch_namespace,
)

from ambilearn.backend.device.blocks import device_blocks
from ambilearn.backend.ties import EXTRA_NEIGHBORS, nearest_first

_GROUP = 32  # columns in a group


class DeviceSearch:
    """Exact search among rows on a device.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    """

    def __init__(self, X: Any) -> None:
        self._X = X

    def nearest(self, queries: Any | None, k: int) -> Any:
        """Indices of the k nearest rows of each query, or of the k nearest others."""
        return nearest_rows(self._X, queries, k, EXTRA_NEIGHBORS)


def nearest_rows(X: Any, queries: Any | None, k: int, n_extra: int) -> Any:
    """Indices of the k nearest rows of X for each query; without queries, of the k nearest others.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    queries : array of shape (m, d) or None
        New rows.
    k : int
        Number of neighbors, at most as many as there are.
    n_extra : int
        Neighbors examined beyond those wanted, to settle ties for the last place.

    Returns
    -------
    neighbor_indices : integer array of shape (m, k)
        Nearest first; ties keep the row order.
    """
    xp, where = array_namespace(X), device(X)
    n = X.shape[0]
    asked = X if queries is None else queries
    wanted = min(k + n_extra + (queries is None), n)
    # Rows beyond the last fill the groups; they are infinitely far away.
    group = _GROUP if n >= _GROUP * wanted else 1
    n_groups = -(-n // group)
    center = xp.mean(X, axis=0)
    filling = xp.zeros((n_groups * group - n, X.shape[1]), dtype=X.dtype, device=where)
    Z = xp.concat([X - center, filling])
    far = xp.full((filling.shape[0],), xp.inf, dtype=X.dtype, device=where)
    norms = xp.concat([xp.sum(Z[:n, :] * Z[:n, :], axis=1), far])
    others = xp.matrix_transpose(Z)
    parts = []
    for rows in device_blocks(asked.shape[0], n_groups * group):
        # Without the row's own square, which does not change the order.
        squared = xp.matmul((asked[rows, :] - center) * -2.0, others)
        squared += norms
        found = _smallest(xp, squared, wanted, n_groups, group)
        parts.append(_settle(xp, X, asked, rows, found, k, queries is None))
    return xp.concat(parts)


def _smallest(xp: Any, squared: Any, wanted: int, n_groups: int, group: int) -> Any:
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


def _settle(xp: Any, X: Any, asked: Any, rows: slice, found: Any, k: int, others: bool) -> Any:
    """The k nearest among those found, by distances from differences."""
    wanted = found.shape[1]
    distances = []
    asked = asked[rows, :]
    for part in device_blocks(asked.shape[0], wanted * X.shape[1]):
        taken = xp.take(X, xp.reshape(found[part, :], (-1,)), axis=0)
        taken = xp.reshape(taken, (-1, wanted, X.shape[1]))
        difference = asked[part, None, :] - taken
        distances.append(xp.sqrt(xp.sum(difference * difference, axis=2)))
    distance = xp.concat(distances)
    if others:
        own = xp.arange(rows.start, rows.stop, device=device(X))[:, None]
        distance = xp.where(found == own, xp.inf, distance)
    return xp.take_along_axis(found, nearest_first(distance)[:, :k], axis=1)


def smallest_places(xp: Any, values: Any, k: int) -> Any:
    """Positions of the k smallest entries of each row, in any order."""
    if k >= values.shape[1]:
        k = values.shape[1]
    if is_torch_namespace(xp):
        return values.topk(k, dim=1, largest=False, sorted=False).indices
    if is_cupy_namespace(xp):
        return xp.argpartition(values, k - 1, axis=1)[:, :k]
    return xp.argsort(values, axis=1)[:, :k]
