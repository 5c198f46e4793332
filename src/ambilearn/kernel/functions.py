r"""Kernel functions, and the bandwidth that the papers use.

.. math:: k(x, z) = \exp\big(-\|x - z\|^2 / (2\sigma^2)\big), \qquad
          \sigma = \text{mean pairwise distance of the training rows}

The linear kernel is that of centered rows, :math:`k(x, z) = (x - \bar z)^\top (z - \bar z)`: its
ridge regression with a bias is the same, and no digits are lost far from the origin.

A row with weight *v* counts as *v* copies: with distances :math:`d_{ij}`,

.. math:: \sigma = \frac{\sum_{ij} v_i v_j d_{ij}}
          {\sum_{i \ne j} v_i v_j + \sum_i v_i \max(v_i - 1, 0)} .
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import HOST, Backend
from ambilearn.backend.arrays import column_centers, subtract_from_rows

KernelFunction = Callable[[Any, Any], NDArray[np.float64]]

_NO_WEIGHT = 1e-11  # rows below this share of the largest weight have weight zero


def train_kernel(
    X: Matrix,
    kernel: str | KernelFunction,
    sigma: str | float = "mean",
    row_weights: Array | None = None,
    backend: Backend = HOST,
) -> tuple[NDArray[np.float64], float | None]:
    """Kernel matrix of the training rows, and its bandwidth (None for kernels other than Gaussian).

    For ``kernel="precomputed"``, X is the kernel matrix itself; a callable takes two matrices of
    rows and returns their kernel matrix. ``sigma`` is the bandwidth of the Gaussian kernel, or
    ``"mean"`` for the mean pairwise distance, weighted by ``row_weights``. The matrix is a new
    array for "rbf" and "linear". Do not overwrite others: a precomputed kernel is X itself, and a
    callable may store its result.
    """
    if kernel != "rbf":
        K = cross_kernel(X, X, kernel, backend=backend)
        if callable(kernel):
            check_symmetric(K)
        return K, None
    squared = backend.squared_distances(X)
    if not isinstance(sigma, Real):
        sigma = mean_distance(squared, row_weights, backend)
    return gaussian(squared, float(sigma), backend), float(sigma)


def mean_distance(
    squared: Array, row_weights: Array | None = None, backend: Backend = HOST
) -> float:
    """Mean of the off-diagonal distances, given their squares; 1 if all are zero.

    A row of weight *v* counts as *v* copies.
    """
    xp, n = array_namespace(squared), squared.shape[0]
    blocks = backend.blocks(squared, n)
    if row_weights is None:
        total = sum(float(xp.sum(xp.sqrt(squared[rows, ...]))) for rows in blocks)
        return total / (n * (n - 1)) or 1.0
    weights = row_weights / xp.max(row_weights)  # so that no product overflows
    weights = xp.where(weights < _NO_WEIGHT, 0.0, weights)
    total = sum(
        float(xp.sum(weights[rows] * (xp.sqrt(squared[rows, ...]) @ weights))) for rows in blocks
    )
    # Pairs of all copies of all rows, without pairs of a copy with itself.
    itself = xp.where(row_weights < 1, row_weights, 1.0) / xp.max(row_weights)
    n_pairs = float(xp.sum(weights)) ** 2 - float(xp.sum(weights * itself))
    return total / n_pairs if total > 0 else 1.0


def gaussian(squared: Array, sigma: float, backend: Backend = HOST) -> Array:
    r"""The kernel :math:`\exp(-d^2 / 2\sigma^2)` of squared distances, in place."""
    for rows in backend.blocks(squared, squared.shape[1]):
        block = squared[rows, ...]
        block *= -0.5 / sigma**2
        squared[rows, ...] = array_namespace(squared).exp(block)
    return squared


def cross_kernel(
    X: Matrix,
    Z: Matrix,
    kernel: str | KernelFunction,
    sigma: float | None = None,
    *,
    backend: Backend = HOST,
) -> NDArray[np.float64]:
    """Kernel matrix (n, m) between the rows of X and the training rows Z.

    For ``kernel="precomputed"``, X is the kernel matrix of new and training rows. The linear kernel
    is that of rows centered at the mean of Z. Other arguments are as in :func:`train_kernel`.
    """
    K: NDArray[np.float64]
    if callable(kernel):
        K = backend.as_kernel(kernel(X, Z))
        xp = array_namespace(K)
        finite = bool(xp.all(xp.isfinite(K)))
        if K.shape != (X.shape[0], Z.shape[0]) or not finite:
            raise ValueError(
                f"The kernel function must return a finite matrix of shape "
                f"{(X.shape[0], Z.shape[0])} for {X.shape[0]} and {Z.shape[0]} rows; "
                f"it returned shape {K.shape}" + ("." if finite else " with NaN or infinity.")
            )
    elif kernel == "precomputed":
        K = X
    elif kernel == "linear":
        center = column_centers(Z)
        centered = subtract_from_rows(Z, center)
        product = (centered if X is Z else subtract_from_rows(X, center)) @ centered.T
        K = product.toarray() if sparse.issparse(product) else product
    elif sigma is None:
        raise ValueError("The Gaussian kernel requires a bandwidth: pass sigma.")
    else:
        K = gaussian(backend.squared_distances(X, Z), sigma, backend)
    return K


def check_symmetric(K: NDArray[np.float64]) -> None:
    """Raise an error if the kernel matrix of the training rows is not symmetric."""
    xp = array_namespace(K)
    allowed = 1e-10 * xp.max(xp.abs(K)) + 1e-8 * xp.abs(K)
    if not xp.all(xp.abs(K - xp.matrix_transpose(K)) <= allowed):
        raise ValueError(
            "The kernel matrix of the training rows is not symmetric: k(x, z) and k(z, x) differ. "
            "Pass a symmetric matrix, for instance (K + K.T) / 2."
        )
