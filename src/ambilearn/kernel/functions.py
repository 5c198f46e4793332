r"""Kernels of the kernel methods, and the bandwidth that the papers use.

.. math:: k(x, z) = \exp\big(-\|x - z\|^2 / (2\sigma^2)\big), \qquad
          \sigma = \text{mean pairwise distance of the training rows}

Where rows have weights *v*, each counts as that many copies: with distances :math:`d_{ij}`,

.. math:: \sigma = \frac{\sum_{ij} v_i v_j d_{ij}}
          {\sum_{i \ne j} v_i v_j + \sum_i v_i \max(v_i - 1, 0)} .
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from ambilearn._utils.blocks import array_blocks, row_blocks
from ambilearn.kernel import functions_on_device

_NO_WEIGHT = 1e-11  # share of the largest weight below which a row stands for one of weight zero

KernelFunction = Callable[[Any, Any], NDArray[np.float64]]


def train_kernel(
    X: Any,
    kernel: str | KernelFunction,
    sigma: str | float = "mean",
    row_weights: Any | None = None,
) -> tuple[NDArray[np.float64], float | None]:
    """Kernel matrix of the training rows, and the bandwidth that was used.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Training rows; the kernel matrix itself for ``kernel="precomputed"``.
    kernel : {"rbf", "linear", "precomputed"} or callable
        A callable takes two matrices of rows and returns their kernel matrix.
    sigma : "mean" or float, default="mean"
        Bandwidth of the Gaussian kernel: a number, or the mean pairwise distance.
    row_weights : array of shape (n,), optional
        How often each row counts in the mean distance.

    Returns
    -------
    K : ndarray of shape (n, n)
        A new array for "rbf" and "linear". A precomputed kernel is X itself, and the result of a
        callable may belong to the callable: neither may be overwritten.
    sigma : float or None
        Bandwidth; None for other kernels.
    """
    if kernel != "rbf":
        return cross_kernel(X, X, kernel), None
    squared = _own_distances(X)
    if not isinstance(sigma, Real):
        sigma = _mean_root(squared, row_weights)
    return _exponential(squared, float(sigma)), float(sigma)


def cross_kernel(
    X: Any, Z: Any, kernel: str | KernelFunction, sigma: float | None = None
) -> NDArray[np.float64]:
    """Kernel matrix between the rows of X and the training rows Z.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        New rows; for ``kernel="precomputed"`` their kernel with the training rows.
    Z : array or sparse matrix of shape (m, d)
        Training rows.
    kernel : {"rbf", "linear", "precomputed"} or callable
        As in :func:`train_kernel`.
    sigma : float, optional
        Bandwidth of the Gaussian kernel, which needs one.

    Returns
    -------
    K : ndarray of shape (n, m)
    """
    K: NDArray[np.float64]
    if callable(kernel):
        K = kernel(X, Z)
        K = np.asarray(K, dtype=np.float64) if _on_host(X) else K
        xp = array_namespace(K)
        finite = bool(xp.all(xp.isfinite(K)))
        if K.shape != (X.shape[0], Z.shape[0]) or not finite:
            raise ValueError(
                f"The kernel function must return a finite matrix of shape "
                f"{(X.shape[0], Z.shape[0])} for {X.shape[0]} and {Z.shape[0]} rows; "
                f"it returned shape {K.shape}" + ("." if finite else " with NaN or infinity in it.")
            )
    elif kernel == "precomputed":
        K = X
    elif kernel == "linear":
        product = X @ Z.T
        K = product.toarray() if sparse.issparse(product) else product
    elif sigma is None:
        raise ValueError("The Gaussian kernel needs its bandwidth: pass sigma.")
    else:
        K = _exponential(_squared_distances(X, Z), sigma)
    return K


def mean_distance(X: Any, row_weights: Any | None = None) -> float:
    """Mean distance over all pairs of different rows; 1 where they all coincide.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    row_weights : array of shape (n,), optional
        How often each row counts.

    Returns
    -------
    distance : float
    """
    return _mean_root(_own_distances(X), row_weights)


def _on_host(X: Any) -> bool:
    return sparse.issparse(X) or is_numpy_array(X)


def _own_distances(X: Any) -> NDArray[np.float64]:
    squared = _squared_distances(X, X)
    if is_numpy_array(squared):
        np.fill_diagonal(squared, 0.0)
    return squared


def _squared_distances(X: Any, Z: Any) -> NDArray[np.float64]:
    """Squared distances by one matrix product, finished block by block while in the cache."""
    squared: NDArray[np.float64]
    if not _on_host(X):
        squared = functions_on_device.squared_distances(X, Z)
        return squared
    if sparse.issparse(X) or sparse.issparse(Z):
        squared = euclidean_distances(X, Z, squared=True)
        return squared
    # Around the mean, because the product below cancels badly far from the origin.
    center = Z.mean(axis=0)
    X, Z = (X - center, Z - center) if X is not Z else 2 * (X - center,)
    try:
        squared = np.empty((len(X), len(Z)))
    except MemoryError as error:
        raise MemoryError(
            f"The kernel matrix of {len(X)} × {len(Z)} rows needs {8e-9 * len(X) * len(Z):.0f} GB. "
            "Set n_landmarks for a kernel of low rank, or use a method without one: PLKNN, IPAL, "
            "PLDA."
        ) from error
    x_norms, z_norms = (X**2).sum(axis=1, keepdims=True), (Z**2).sum(axis=1)
    for block in row_blocks(*squared.shape):
        distances = np.matmul(X[block], Z.T, out=squared[block])
        distances *= -2.0
        distances += x_norms[block]
        distances += z_norms
        np.maximum(distances, 0.0, out=distances)
    return squared


def _mean_root(squared: NDArray[np.float64], row_weights: Any | None) -> float:
    """Mean distance over all pairs of different rows; 1 where they all coincide."""
    if row_weights is not None:
        return _weighted_mean_root(squared, row_weights)
    if not is_numpy_array(squared):
        return functions_on_device.mean_root(squared)
    n = len(squared)
    total = sum(np.sqrt(squared[block]).sum() for block in row_blocks(*squared.shape))
    return float(total / (n * (n - 1))) or 1.0


def _weighted_mean_root(squared: Any, row_weights: Any) -> float:
    """The same with rows that count as often as their weights say."""
    xp = array_namespace(squared)
    weights = row_weights / xp.max(row_weights)  # so that no product leaves the range
    weights = xp.where(weights < _NO_WEIGHT, 0.0, weights)
    total = 0.0
    for rows in array_blocks(squared, squared.shape[1]):
        total += float(xp.sum(weights[rows] * (xp.sqrt(squared[rows, ...]) @ weights)))
    # Pairs of all copies of all rows, without pairs of a copy with itself.
    itself = xp.where(row_weights < 1, row_weights, 1.0) / xp.max(row_weights)
    n_pairs = float(xp.sum(weights)) ** 2 - float(xp.sum(weights * itself))
    return total / n_pairs if total > 0 else 1.0


def _exponential(squared: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """exp(−squared / 2σ²), in place: the matrix may take a good part of the memory."""
    if not is_numpy_array(squared):
        functions_on_device.exponential(squared, sigma)
        return squared
    for block in row_blocks(*squared.shape):
        squared[block] *= -0.5 / sigma**2
        np.exp(squared[block], out=squared[block])
    return squared
