r"""Low-rank kernel features from m landmarks, with memory that grows with n·m.

With landmarks :math:`z_1 … z_m`, their kernel matrix :math:`K_{mm} = U \Lambda U^\top` and the
kernel :math:`k_m(x)` of a row with them, the features

.. math:: \phi(x) = \Lambda^{-1/2} U^\top k_m(x)

have the inner products :math:`k_m(x)^\top K_{mm}^{-1} k_m(x')`, the Nyström approximation of the
kernel [1]_. If every training row is a landmark, the approximation is exact.

References
----------
.. [1] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.
.. [2] Zhang, Tsang, Kwok. Improved Nyström low-rank approximation and error analysis. ICML 2008.
"""

from numbers import Real

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from ambilearn._utils.limits import threads_for
from ambilearn._utils.types import Array, Matrix, RandomState
from ambilearn._utils.warnings import ignoring
from ambilearn.backend import HOST, Backend
from ambilearn.backend.arrays import to_numpy
from ambilearn.kernel.functions import KernelFunction, cross_kernel, mean_distance

_MAX_SIGMA_ROWS = 5000  # maximum number of rows for the estimate of the bandwidth
_ROWS_PER_LANDMARK = 50  # rows per landmark in k-means: more hardly change the centers


class LandmarkFeatures:
    """Features of rows, computed from their kernel values with the landmarks.

    Parameters
    ----------
    landmarks : array or sparse matrix of shape (m, d)
        The landmarks.
    kernel : {"rbf"} or callable
        As in :func:`ambilearn.kernel.functions.cross_kernel`.
    sigma : float, optional
        Bandwidth of the Gaussian kernel.
    backend : Backend, default=HOST
        Backend of the landmarks.

    Attributes
    ----------
    whitening : ndarray of shape (m, r)
        Matrix that maps kernel values with the landmarks to features; r ≤ m is the rank of the
        kernel matrix of the landmarks.
    """

    def __init__(
        self,
        landmarks: Array,
        kernel: str | KernelFunction,
        sigma: float | None = None,
        backend: Backend = HOST,
    ) -> None:
        self.landmarks, self.kernel, self.sigma = landmarks, kernel, sigma
        self._backend = backend
        self.whitening = backend.whitening(self._kernel_with(landmarks))

    def transform(self, X: Matrix) -> Array:
        """Features of the rows of X, shape (n, r)."""
        xp = array_namespace(self.whitening)
        m, rank = self.whitening.shape
        features = xp.empty((X.shape[0], rank), dtype=xp.float64, device=device(self.whitening))
        for rows in self._backend.blocks(X, m):
            features[rows, :] = self._kernel_with(X[rows, ...]) @ self.whitening
        return features

    def _kernel_with(self, X: Matrix) -> Array:
        return cross_kernel(X, self.landmarks, self.kernel, self.sigma, backend=self._backend)


def sample_limit(m: int) -> int:
    """Maximum number of rows that :func:`choose_landmarks` and :func:`sampled_sigma` use."""
    return max(_MAX_SIGMA_ROWS, _ROWS_PER_LANDMARK * m)


def choose_landmarks(
    X: Matrix, m: int, how: str, random_state: RandomState, backend: Backend = HOST
) -> Array:
    """Choose m rows, or cluster centers of rows, as landmarks; all rows if there are at most m.

    ``how`` is ``"kmeans"`` for cluster centers of k-means, which approximate the kernel better
    [2]_, or ``"uniform"`` for rows drawn at random.
    """
    n = X.shape[0]
    if m >= n:
        return X
    random = check_random_state(random_state)
    if how == "uniform":
        return backend.take_rows(X, np.sort(random.choice(n, m, replace=False)))
    if n > _ROWS_PER_LANDMARK * m:
        sample = np.sort(random.choice(n, _ROWS_PER_LANDMARK * m, replace=False))
        X = backend.take_rows(X, sample)
    # Equal centers only lower the rank. k-means is from scikit-learn and runs on the CPU; the
    # sample is small.
    return backend.asarray(kmeans_centers(to_numpy(X), m, random, max_iter=20))


def sampled_sigma(
    X: Matrix, random_state: RandomState, row_weights: Array | None = None, backend: Backend = HOST
) -> float:
    """Mean pairwise distance of the rows, estimated from at most 5000 of them."""
    n = X.shape[0]
    if n > _MAX_SIGMA_ROWS:
        random = check_random_state(random_state)
        picked = np.sort(random.choice(n, _MAX_SIGMA_ROWS, replace=False))
        X = backend.take_rows(X, picked)
        if row_weights is not None:
            row_weights = backend.take_rows(row_weights, picked)
    return mean_distance(backend.squared_distances(X), row_weights, backend)


def landmark_features(
    X: Matrix,
    n_landmarks: int,
    kernel: str | KernelFunction,
    sigma: str | float,
    landmarks: str,
    random_state: RandomState,
    row_weights: Array | None = None,
    backend: Backend = HOST,
) -> LandmarkFeatures:
    """Map from rows to low-rank features; computed from a sample of X if X is large."""
    width = None
    if kernel == "rbf":
        given = isinstance(sigma, Real)
        width = float(sigma) if given else sampled_sigma(X, random_state, row_weights, backend)
    chosen = choose_landmarks(X, n_landmarks, landmarks, random_state, backend)
    return LandmarkFeatures(chosen, kernel, width, backend)


def kmeans_centers(
    X: Matrix, n_centers: int, random_state: RandomState, max_iter: int = 300
) -> NDArray[np.float64]:
    """Centers of k-means with one initialization, of shape (n_centers, d).

    X (dense or sparse) has at least as many rows as centers. If it has fewer distinct rows, some
    centers are equal.
    """
    means = KMeans(n_centers, n_init=1, max_iter=max_iter, random_state=random_state)
    # One thread: with several, the order of summation and so the last bit would vary. The rows are
    # NumPy arrays on every backend, and dispatch fails here in some releases of scikit-learn.
    on_cpu = config_context(array_api_dispatch=False)
    one_thread = threadpool_limits(1, user_api="openmp")
    with on_cpu, threads_for(0), one_thread, ignoring(ConvergenceWarning):  # of equal centers
        centers: NDArray[np.float64] = means.fit(X).cluster_centers_
    return centers
