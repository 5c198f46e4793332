"""Rows at the same distance: which of them is nearer must not be left to rounding."""

from typing import Any

from array_api_compat import array_namespace

EXTRA_NEIGHBORS = 5  # neighbors examined beyond those wanted, to settle ties for the last place


def nearest_first(distances: Any) -> Any:
    """Order of the distances of each row, of equals the first first.

    Equal is what single precision cannot tell apart. So rows that are duplicates but for rounding,
    as those of a classifier's outputs are, come in their own order on every machine and device.

    Parameters
    ----------
    distances : array of shape (n, k)
        Distances; those to nowhere are infinite.

    Returns
    -------
    order : integer array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.backend.ties import nearest_first
    >>> nearest_first(np.array([[2.0 + 1e-12, 2.0, 1.0]])).tolist()
    [[2, 0, 1]]
    """
    xp = array_namespace(distances)
    finite = xp.where(xp.isfinite(distances), distances, 0.0)
    largest = xp.max(finite, axis=1, keepdims=True)  # so that none leaves the range
    relative = distances / xp.where(largest > 0, largest, 1.0)
    return xp.argsort(xp.astype(relative, xp.float32), axis=1, stable=True)
