"""Distances and the Gaussian kernel in host memory, finished block by block in the CPU's cache."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from ambilearn._utils.limits import row_blocks
from ambilearn._utils.types import Matrix
from ambilearn.backend.arrays import column_centers, subtract_from_rows


def squared_distances(X: Matrix, Z: Matrix | None = None) -> NDArray[np.float64]:
    """Squared distances of the rows of X and Z; without Z of X and X, with a zero diagonal."""
    if Z is None:
        squared = squared_distances(X, X)
        np.fill_diagonal(squared, 0.0)
        return squared
    # Centered, because the product below loses precision far from the origin.
    center = column_centers(Z)
    same, Z = X is Z, subtract_from_rows(Z, center)
    X = Z if same else subtract_from_rows(X, center)
    if sparse.issparse(X) or sparse.issparse(Z):
        return euclidean_distances(X, Z, squared=True)
    squared = np.empty((len(X), len(Z)))
    x_norms, z_norms = (X**2).sum(axis=1, keepdims=True), (Z**2).sum(axis=1)
    for block in row_blocks(*squared.shape):
        distances = np.matmul(X[block], Z.T, out=squared[block])
        distances *= -2.0
        distances += x_norms[block]
        distances += z_norms
        np.maximum(distances, 0.0, out=distances)
    return squared


def mean_distance(squared: NDArray[np.float64]) -> float:
    """Mean of the off-diagonal distances, given their squares; 1 if all are zero."""
    n = len(squared)
    total = sum(np.sqrt(squared[block]).sum() for block in row_blocks(*squared.shape))
    return float(total / (n * (n - 1))) or 1.0


def gaussian(squared: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """exp(−squared / 2σ²), in place: the matrix may fill much of the memory."""
    for block in row_blocks(*squared.shape):
        squared[block] *= -0.5 / sigma**2
        np.exp(squared[block], out=squared[block])
    return squared
