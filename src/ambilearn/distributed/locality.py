"""Cells of k-means that keep neighboring rows together and have similar sizes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.utils import check_random_state

from ambilearn._utils.kmeans import kmeans_centers
from ambilearn.backend.host.neighbors import unit_rows

_LARGEST = 1.5  # cells larger than this multiple of the mean are split in two


class LocalityCells:
    """Cells of unit-length rows around centers; the graph of PL-CL uses unit-length rows.

    Parameters
    ----------
    sample : array or sparse matrix of shape (n, d)
        Sample of all rows.
    n_cells : int
        Number of clusters of k-means, at most half the number of rows. Cells with more than 1.5
        times the mean number of rows are split, so there can be more cells.
    random_state : int, RandomState or None
        Seed of k-means.

    Attributes
    ----------
    centers : ndarray of shape (n_cells, d)
    """

    def __init__(self, sample: Any, n_cells: int, random_state: Any = None) -> None:
        random = check_random_state(random_state)
        Z = unit_rows(sample)
        n_cells = max(1, min(n_cells, Z.shape[0] // 2))
        self.centers = kmeans_centers(Z, n_cells, random)
        for _ in range(n_cells):
            cells = self._nearest(Z)
            largest = np.argmax(np.bincount(cells))
            members = np.flatnonzero(cells == largest)
            if len(members) <= _LARGEST * len(cells) / n_cells:
                break
            halves = kmeans_centers(Z[members], 2, random)
            others = np.delete(self.centers, largest, axis=0)
            self.centers = np.concatenate([others, halves])

    def assign(self, X: Any) -> NDArray[np.intp]:
        """Cell of every row of X, an array or sparse matrix of shape (n, d)."""
        return self._nearest(unit_rows(X))

    def _nearest(self, Z: Any) -> NDArray[np.intp]:
        nearest: NDArray[np.intp] = pairwise_distances_argmin(Z, self.centers)
        return nearest

    def join(self, sizes: NDArray[np.intp], smallest: int) -> NDArray[np.intp]:
        """Partition of every cell, numbered from 0: small cells are merged with the nearest cell.

        ``sizes`` are the numbers of rows of the cells. A partition has at least ``smallest`` rows,
        if there are that many.
        """
        partitions = np.arange(len(sizes))
        distances = pairwise_distances(self.centers)
        while True:
            present, cells = np.unique(partitions, return_inverse=True)
            totals = np.bincount(cells, sizes)
            small = np.argmin(totals)
            if totals[small] >= smallest or len(present) == 1:
                return cells
            inside = cells == small
            away = np.where(inside[:, None] & ~inside, distances, np.inf)
            nearest = np.unravel_index(np.argmin(away), away.shape)[1]
            partitions[inside] = partitions[nearest]
