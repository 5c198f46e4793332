import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from ambilearn._utils.kmeans import kmeans_centers


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(3000, 6))


def test_centers_of_groups():
    centers = np.array([[0.0, 0], [50, 0], [0, 50]])
    X = np.repeat(centers, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 2))
    found = kmeans_centers(X, 3, 0)
    means = X.reshape(3, 20, 2).mean(axis=1)
    np.testing.assert_allclose(found[cdist(means, found).argmin(axis=1)], means)


def test_the_seed_determines_the_centers(rows):
    first = kmeans_centers(rows, 9, 3)
    assert first.shape == (9, 6)
    np.testing.assert_array_equal(first, kmeans_centers(rows, 9, np.random.RandomState(3)))
    assert not np.array_equal(first, kmeans_centers(rows, 9, 4))


def test_results_do_not_depend_on_the_number_of_threads(rows):
    with threadpool_limits(1):
        expected = KMeans(40, n_init=1, random_state=0).fit(rows).cluster_centers_
    with threadpool_limits(4):
        np.testing.assert_array_equal(kmeans_centers(rows, 40, 0), expected)


def test_few_iterations_end_early_without_a_warning(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        early = kmeans_centers(rows, 40, 0, max_iter=1)
    late = kmeans_centers(rows, 40, 0)

    def spread(centers):
        return (cdist(rows, centers).min(axis=1) ** 2).sum()

    assert spread(late) < 0.99 * spread(early)


def test_equal_rows_give_equal_centers_without_a_warning():
    X = np.repeat(np.eye(3), 4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        centers = kmeans_centers(X, 5, 0)
    assert centers.shape == (5, 3)
    assert len(np.unique(centers, axis=0)) == 3


def test_sparse_rows(rows):
    X = np.where(rows > 0.5, rows, 0.0)
    np.testing.assert_allclose(
        kmeans_centers(sparse.csr_array(X), 5, 0), kmeans_centers(X, 5, 0), atol=1e-9
    )
