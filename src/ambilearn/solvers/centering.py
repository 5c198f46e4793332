"""Rows far from the origin: their products lose digits unless the rows are centered first."""

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from ambilearn._utils.types import Array, Matrix


def column_centers(X: Matrix) -> Array:
    """Means of the columns, shape (d,).

    Of a sparse matrix, the means of the stored entries, and zero for columns of which fewer than
    half of the entries are stored: the centered matrix stays sparse, and the zeros of such columns
    are far from any other center.
    """
    if not sparse.issparse(X):
        return array_namespace(X).mean(X, axis=0)
    counts = np.bincount(X.tocsr().indices, minlength=X.shape[1])
    sums = np.asarray(X.sum(axis=0)).ravel()
    return np.where(2 * counts >= X.shape[0], sums / np.maximum(counts, 1), 0.0)


def subtract_from_rows(X: Matrix, center: Array) -> Matrix:
    """Subtract a vector from each row; a sparse matrix stays sparse."""
    if not sparse.issparse(X):
        return X - center
    (columns,) = np.nonzero(center)
    if not columns.size:
        return X
    n = X.shape[0]
    ends = np.arange(n + 1) * columns.size
    parts = np.tile(center[columns], n), np.tile(columns, n), ends
    return (X - sparse.csr_array(parts, shape=X.shape)).tocsr()
