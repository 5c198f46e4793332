r"""Low-rank kernel features: n rows seen from m landmarks, so that cost and memory grow with n·m.

With landmarks :math:`z_1 … z_m`, their kernel matrix :math:`K_{mm} = U \Lambda U^\top` and the
kernel :math:`k_m(x)` of a row with them, the features

.. math:: \phi(x) = \Lambda^{-1/2} U^\top k_m(x)

have the inner products :math:`k_m(x)^\top K_{mm}^{-1} k_m(x')`, the Nyström approximation of the
kernel [1]_. When every training row is a landmark it is the kernel itself.

References
----------
.. [1] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.
.. [2] Zhang, Tsang, Kwok. Improved Nyström low-rank approximation and error analysis. ICML 2008.
"""

from numbers import Integral
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_random_state

from ambilearn._utils.blocks import array_blocks, row_blocks
from ambilearn._utils.devices import to_like, to_numpy
from ambilearn._utils.kmeans import kmeans_centers
from ambilearn._utils.sklearn_compat import Interval
from ambilearn.kernel.functions import KernelFunction, cross_kernel, mean_distance


class _Count(Interval):
    """Whole numbers; True, which Python takes for 1, is none."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and super().is_satisfied_by(val)


# What the parameter ``n_landmarks`` may be, where it is not None.
LANDMARKS_CONSTRAINT = _Count(Integral, 1, None, closed="left")

_MAX_SIGMA_ROWS = 5000  # rows from which the bandwidth is estimated
_ROWS_PER_LANDMARK = 50  # rows per landmark that k-means sees: more hardly move the centres
_MIN_EIGENVALUE_RATIO = 1e-13  # share of the largest eigenvalue below which one is rounding error


class LandmarkFeatures:
    """The features of rows, given by their kernel with a few landmarks.

    Parameters
    ----------
    landmarks : array or sparse matrix of shape (m, d)
        The landmarks.
    kernel : {"rbf"} or callable
        As in :func:`ambilearn.kernel.functions.cross_kernel`.
    sigma : float or None
        Bandwidth of the Gaussian kernel.

    Attributes
    ----------
    whitening : ndarray of shape (m, r)
        Turns kernel values with the landmarks into features; r ≤ m is the rank of their kernel
        matrix.
    """

    def __init__(
        self, landmarks: Any, kernel: str | KernelFunction, sigma: float | None = None
    ) -> None:
        self.landmarks, self.kernel, self.sigma = landmarks, kernel, sigma
        K = cross_kernel(landmarks, landmarks, kernel, sigma)
        if not is_numpy_array(K):
            self.whitening = _whitening_on_device(K)
            return
        values, vectors = linalg.eigh((K + K.T) / 2)
        kept = values > _MIN_EIGENVALUE_RATIO * values[-1]
        self.whitening = vectors[:, kept] / np.sqrt(values[kept])

    def transform(self, X: Any) -> Any:
        """Features of the rows of X, shape (n, r)."""
        m, rank = self.whitening.shape
        if not is_numpy_array(self.whitening):
            return self._transform_on_device(X)
        features = np.empty((X.shape[0], rank))
        for rows in row_blocks(X.shape[0], m):
            K = cross_kernel(X[rows], self.landmarks, self.kernel, self.sigma)
            np.matmul(K, self.whitening, out=features[rows])
        return features

    def _transform_on_device(self, X: Any) -> Any:
        xp = array_namespace(X)
        parts = [
            xp.matmul(
                cross_kernel(X[rows, :], self.landmarks, self.kernel, self.sigma), self.whitening
            )
            for rows in array_blocks(X, self.whitening.shape[0])
        ]
        return xp.concat(parts)


def _whitening_on_device(K: Any) -> Any:
    xp = array_namespace(K)
    values, vectors = xp.linalg.eigh((K + xp.matrix_transpose(K)) / 2)
    # They ascend, so those that are kept are the last.
    kept = int(xp.sum(xp.astype(values > _MIN_EIGENVALUE_RATIO * values[-1], xp.int64)))
    first = K.shape[0] - kept
    return vectors[:, first:] / xp.sqrt(values[first:])


def sample_limit(m: int) -> int:
    """Most rows that :func:`choose_landmarks` and :func:`sampled_sigma` look at among many."""
    return max(_MAX_SIGMA_ROWS, _ROWS_PER_LANDMARK * m)


def choose_landmarks(X: Any, m: int, how: str, random_state: Any) -> Any:
    """Rows, or centres of rows, that stand for all rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Training rows.
    m : int
        Number of landmarks; all rows where there are no more.
    how : {"kmeans", "uniform"}
        Centres of k-means, which approximate the kernel better [2]_; or rows drawn at random.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    landmarks : array or sparse matrix of shape (m, d)
    """
    n = X.shape[0]
    if m >= n:
        return X
    random = check_random_state(random_state)
    if how == "uniform":
        return _take_rows(X, np.sort(random.choice(n, m, replace=False)))
    if n > _ROWS_PER_LANDMARK * m:
        X = _take_rows(X, np.sort(random.choice(n, _ROWS_PER_LANDMARK * m, replace=False)))
    # Equal centres only lower the rank. Rows on a device are few by now: k-means, which is
    # scikit-learn's, sees them on the processor, and finds the same centres as there.
    centers = kmeans_centers(to_numpy(X), m, random, max_iter=20)
    return to_like(centers, X) if _on_device(X) else centers


def sampled_sigma(X: Any, random_state: Any, row_weights: Any | None = None) -> float:
    """Mean pairwise distance of the rows, estimated from 5000 of them where there are more.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    random_state : int, RandomState or None
        Seed of the sample.
    row_weights : array of shape (n,), optional
        How often each row counts.

    Returns
    -------
    sigma : float
    """
    n = X.shape[0]
    if n > _MAX_SIGMA_ROWS:
        random = check_random_state(random_state)
        picked = np.sort(random.choice(n, _MAX_SIGMA_ROWS, replace=False))
        X = _take_rows(X, picked)
        row_weights = None if row_weights is None else _take_rows(row_weights, picked)
    return mean_distance(X, row_weights)


def _on_device(X: Any) -> bool:
    return is_array_api_obj(X) and not is_numpy_array(X)


def _take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    if _on_device(X):
        return array_namespace(X).take(X, to_like(rows, X), axis=0)
    return X[rows]
