"""Neighbors in the feature space of a kernel matrix."""

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from ambilearn.backend.host.products import ROUNDING
from ambilearn.backend.ties import EXTRA_NEIGHBORS, nearest_first, nearest_places


def unit_kernel(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """The kernel matrix of the rows scaled to unit length in the feature space."""
    lengths = np.sqrt(np.clip(np.diag(K), 0, None))
    lengths[lengths == 0] = 1.0
    return K / np.outer(lengths, lengths)


def nearest_in_matrix(distances: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Indices of the k nearest other rows of every row, from an (n, n) matrix of distances."""
    search = NearestNeighbors(metric="precomputed").fit(distances)
    wanted = min(k + EXTRA_NEIGHBORS, len(distances) - 1)
    found = np.sort(search.kneighbors(None, wanted, return_distance=False), axis=1)
    places, tied = nearest_places(np.take_along_axis(distances, found, axis=1), k)
    nearest = np.take_along_axis(found, places, axis=1)
    if wanted < len(distances) - 1:
        for row in np.flatnonzero(tied):
            others = np.delete(np.arange(len(distances)), row)
            nearest[row] = others[nearest_first(distances[row, others][None])[0, :k]]
    return nearest


def squared_kernel_distances(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances in the feature space of a kernel; rounding errors around zero are zero."""
    squares = np.diag(K)
    distances = squares[:, None] + squares - 2 * K
    distances[distances <= ROUNDING * np.abs(squares)[:, None]] = 0.0
    return np.clip(distances, 0, None, out=distances)
