"""Rule for ties between neighbors: at equal distance the row with the lower index is nearer.

Distances that differ only by rounding are equal. The rule applies to all rows: if a row that the
search did not return can tie with the k-th neighbor (:func:`nearest_places`), all rows are
compared. Neighbors therefore do not depend on the memory layout, the sparse format or the library
of the rows.
"""

from types import ModuleType

from array_api_compat import array_namespace

from ambilearn._utils.types import Array

EXTRA_NEIGHBORS = 5  # proposed neighbors beyond those wanted, to detect ties for the last place

# Rows closer than this, relative to their length, are equal: a few rounding errors per entry.
_COINCIDENT = 16 * 2.0**-52


def zero_if_coincident(distances: Array, lengths: Array) -> Array:
    """Distances in which rows that coincide up to rounding are at distance zero.

    ``lengths`` are those of the rows from which the distances are measured, in a shape that
    broadcasts.
    """
    xp = array_namespace(distances)
    return xp.where(distances <= _COINCIDENT * lengths, 0.0, distances)


def in_single(distances: Array, largest: Array) -> Array:
    """Distances relative to the largest, in single precision: equal if only rounding differs."""
    xp = array_namespace(distances)
    return xp.astype(distances / xp.where(largest > 0, largest, 1.0), xp.float32)


def nearest_first(distances: Array) -> Array:
    """Order of the distances (n, m) of each row; ties keep the input order.

    Rows that cannot be neighbors have an infinite distance.

    >>> import numpy as np
    >>> nearest_first(np.array([[2.0 + 1e-12, 2.0, 1.0]])).tolist()
    [[2, 0, 1]]
    """
    xp = array_namespace(distances)
    return xp.argsort(_comparable(xp, distances), axis=1, stable=True)


def nearest_places(distances: Array, k: int) -> tuple[Array, Array]:
    """Places of the k smallest distances of each row, and whether the last is tied with all after.

    The distances (n, m) are those of the proposed neighbors, in the order of their row numbers. The
    places (n, k) have the nearest first; ties keep the input order. If a row is tied, rows that
    were not proposed may be as near as the k-th.
    """
    xp = array_namespace(distances)
    comparable = _comparable(xp, distances)
    order = xp.argsort(comparable, axis=1, stable=True)
    kth = xp.take_along_axis(comparable, order[:, k - 1 : k], axis=1)[:, 0]
    farthest = xp.max(xp.where(xp.isfinite(comparable), comparable, 0.0), axis=1)
    return order[:, :k], kth == farthest


def _comparable(xp: ModuleType, distances: Array) -> Array:
    finite = xp.where(xp.isfinite(distances), distances, 0.0)
    return in_single(distances, xp.max(finite, axis=1, keepdims=True))
