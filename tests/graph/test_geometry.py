import warnings

import numpy as np
import pytest
from literal import knn, literal_grams, unit_rows
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from ambilearn import PLAGGD
from ambilearn.backend import HOST
from ambilearn.graph.geometry import (
    LocalGeometry,
    duplicate_averages,
    squared_kernel_distances,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 5))


def test_geometry_uses_unit_rows(X):
    geometry = LocalGeometry(X, 5)
    unit = unit_rows(X)
    np.testing.assert_array_equal(geometry.neighbor_indices, knn(unit, 5))
    np.testing.assert_allclose(
        geometry.gram, literal_grams(unit, geometry.neighbor_indices), atol=1e-12
    )


def test_sparse_rows_give_the_same_geometry(X):
    X[np.abs(X) < 0.2] = 0
    dense, thin = LocalGeometry(X, 5), LocalGeometry(sparse.csr_array(X), 5)
    np.testing.assert_array_equal(thin.neighbor_indices, dense.neighbor_indices)
    np.testing.assert_allclose(thin.gram, dense.gram, atol=1e-12)


def test_linear_kernel_matrix_gives_the_same_geometry(X):
    features, kernel = LocalGeometry(X, 5), LocalGeometry(X @ X.T, 5, precomputed=True)
    np.testing.assert_array_equal(kernel.neighbor_indices, features.neighbor_indices)
    np.testing.assert_allclose(kernel.gram, features.gram, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda X: X @ X.T])
def test_zero_rows_stay_zero(X, form):
    X[0] = 0
    precomputed = form is not np.asarray and form is not sparse.csr_array
    geometry = LocalGeometry(form(X), 5, precomputed=precomputed)
    assert np.isfinite(geometry.gram).all()
    np.testing.assert_allclose(np.diag(geometry.gram[0]), 1.0)  # all others at distance one


def test_kernel_distances(X):
    squared = squared_kernel_distances(X @ X.T)
    np.testing.assert_allclose(squared, cdist(X, X) ** 2, atol=1e-10)
    assert (squared >= 0).all()


def test_transformer_searches_unit_rows(X):
    """The radius covers nearly all of the sphere; on X itself it would contain no row."""
    X *= 100
    for transformer in (KNeighborsTransformer(), RadiusNeighborsTransformer(radius=1.9)):
        geometry, exact = LocalGeometry(X, 5, neighbors=transformer), LocalGeometry(X, 5)
        np.testing.assert_array_equal(geometry.neighbor_indices, exact.neighbor_indices)
        np.testing.assert_array_equal(geometry.gram, exact.gram)


def test_kernel_matrix_with_a_transformer_raises(X):
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        LocalGeometry(X @ X.T, 5, precomputed=True, neighbors=KNeighborsTransformer())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(30))
def test_near_duplicates_have_valid_gram_matrices(seed):
    """All in one direction or its opposite: inner products alone left matrices that were none."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=60)
    Z = np.c_[z, -z] + 3e-16 * rng.normal(size=(60, 2))
    mask = np.eye(2)[(z > 0).astype(int)].astype(bool)
    mask[rng.random(60) < 0.4] = True
    for rows, precomputed in ((sparse.csr_array(Z), False), (Z @ Z.T, True)):
        gram = LocalGeometry(rows, 10, precomputed=precomputed).gram
        assert np.linalg.eigvalsh(gram).min() > 0
        method = PLAGGD(kernel="precomputed" if precomputed else "rbf")
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            assert np.isfinite(method.fit(rows, mask).label_distributions_).all()


def test_duplicate_averages_average_the_weights(library):
    Z = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1e-16], [0.6, 0.8], [0.0, -1.0]])
    neighbor_indices = np.array([[1, 2, 3], [0, 3, 4]])
    gram = np.concatenate(
        [
            HOST.difference_grams(Z[[i, *others]], np.array([[1, 2, 3]] * 4))[:1]
            for i, others in enumerate(neighbor_indices)
        ]
    )
    averages = library.to_host(duplicate_averages(library.to_device(gram)))
    np.testing.assert_array_equal(averages[0], [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    np.testing.assert_array_equal(averages[1], np.eye(3))
    assert duplicate_averages(library.to_device(gram[1:])) is None


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_rows_without_duplicates_have_no_averages(X, form):
    assert LocalGeometry(form(X), 6).averages is None
    X[7] = 3 * X[3]
    assert LocalGeometry(form(X), 6).averages is not None


def test_distances_of_rounding_in_a_kernel_matrix_are_zero(X):
    X[7] = X[3]
    K = X @ X.T
    K[3, 7] *= 1 - 1e-15
    assert squared_kernel_distances(K)[3, 7] == 0
