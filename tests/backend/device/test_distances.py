import numpy as np
import pytest

from ambilearn.backend import choose_backend
from ambilearn.backend.device import blocks
from ambilearn.kernel.functions import cross_kernel, train_kernel


@pytest.fixture(params=[2**27, 50])
def block(request, monkeypatch):
    monkeypatch.setattr(blocks, "ON_DEVICE", request.param)


def on_device(function, X, *args):
    return function(X, *args, backend=choose_backend(X))


def mean_distance(X, row_weights=None):
    backend = choose_backend(X)
    return backend.mean_distance(backend.squared_distances(X), row_weights)


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) + 7


def test_the_gaussian_kernel_of_the_training_rows(there, block):
    X = rows(40)
    expected, sigma = train_kernel(X, "rbf")
    K, found = on_device(train_kernel, there.move(X), "rbf")
    np.testing.assert_allclose(there.back(K), expected, atol=1e-14)
    assert found == pytest.approx(sigma, rel=1e-14)
    assert (np.diag(there.back(K)) == 1).all()


def test_a_given_bandwidth(there, block):
    K, sigma = on_device(train_kernel, there.move(rows(20)), "rbf", 2.0)
    np.testing.assert_allclose(there.back(K), train_kernel(rows(20), "rbf", 2.0)[0], atol=1e-14)
    assert sigma == 2.0


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_between_new_and_training_rows(there, block, kernel):
    X, Z = rows(9, 1), rows(20)
    found = on_device(cross_kernel, there.move(X), there.move(Z), kernel, 1.5)
    np.testing.assert_allclose(there.back(found), cross_kernel(X, Z, kernel, 1.5), atol=1e-12)


def test_a_kernel_function_computes_there(there):
    K = on_device(cross_kernel, there.move(rows(5)), there.move(rows(6)), lambda X, Z: X @ Z.T)
    assert there.holds(K)
    with pytest.raises(ValueError, match="finite matrix of shape"):
        on_device(cross_kernel, there.move(rows(5)), there.move(rows(6)), lambda X, Z: X)


def test_the_mean_distance(there, block):
    assert mean_distance(there.move(rows(30))) == pytest.approx(mean_distance(rows(30)), rel=1e-13)
    assert mean_distance(there.move(np.ones((4, 2)))) == 1.0


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_the_mean_distance_of_rows_with_weights(there, scale):
    X, v = rows(30), scale * np.random.default_rng(0).uniform(0, 3, 30)
    found = mean_distance(there.move(X), there.move(v))
    assert found == pytest.approx(mean_distance(X, v), rel=1e-13)
