"""Centers of k-means that depend only on the seed, not on the number of threads."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ambilearn._utils.threads import threads_for
from ambilearn._utils.types import Matrix, RandomState


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
    with on_cpu, threads_for(0), one_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal centers are fine
        centers: NDArray[np.float64] = means.fit(X).cluster_centers_
    return centers
