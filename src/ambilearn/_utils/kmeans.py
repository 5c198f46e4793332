"""Centres of k-means that depend on the seed alone, not on the number of threads."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits


def kmeans_centers(
    X: Any, n_centers: int, random_state: Any, max_iter: int = 300
) -> NDArray[np.float64]:
    """Centres of k-means, from one start.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows, at least as many as centers. Where fewer of them differ, centers are equal.
    n_centers : int
        Number of centers.
    random_state : int, RandomState or None
        Seed.
    max_iter : int, default=300
        Limit of iterations.

    Returns
    -------
    centers : ndarray of shape (n_centers, d)
    """
    means = KMeans(n_centers, n_init=1, max_iter=max_iter, random_state=random_state)
    # One thread: with several, the order of a sum, and so its last bit, is left to chance. The rows
    # are NumPy's whatever the fit computes on, and not every release bears dispatch here.
    on_processor = config_context(array_api_dispatch=False)
    with on_processor, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal centers do no harm
        centers: NDArray[np.float64] = means.fit(X).cluster_centers_
    return centers
