import numpy as np
import pytest

from ambilearn.backend import choose_backend, device_arrays
from ambilearn.kernel import functions
from ambilearn.kernel.functions import cross_kernel, train_kernel


@pytest.fixture(params=[2**27, 50])
def block(request, monkeypatch):
    monkeypatch.setattr(device_arrays, "ON_DEVICE", request.param)


def on_device(function, X, *args):
    return function(X, *args, backend=choose_backend(X))


def mean_distance(X, row_weights=None):
    backend = choose_backend(X)
    return functions.mean_distance(backend.squared_distances(X), row_weights, backend)


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) + 7


def test_the_gaussian_kernel_of_the_training_rows(library, block):
    X = rows(40)
    expected, sigma = train_kernel(X, "rbf")
    K, found = on_device(train_kernel, library.to_device(X), "rbf")
    np.testing.assert_allclose(library.to_host(K), expected, atol=1e-14)
    assert found == pytest.approx(sigma, rel=1e-14)
    assert (np.diag(library.to_host(K)) == 1).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_between_new_and_training_rows(library, block, kernel):
    X, Z = rows(9, 1), rows(20)
    found = on_device(cross_kernel, library.to_device(X), library.to_device(Z), kernel, 1.5)
    np.testing.assert_allclose(library.to_host(found), cross_kernel(X, Z, kernel, 1.5), atol=1e-12)


def test_a_kernel_function_computes_on_the_device(library):
    K = on_device(
        cross_kernel, library.to_device(rows(5)), library.to_device(rows(6)), lambda X, Z: X @ Z.T
    )
    assert library.holds(K)
    with pytest.raises(ValueError, match="finite matrix of shape"):
        on_device(
            cross_kernel, library.to_device(rows(5)), library.to_device(rows(6)), lambda X, Z: X
        )


def test_the_mean_distance(library, block):
    assert mean_distance(library.to_device(rows(30))) == pytest.approx(
        mean_distance(rows(30)), rel=1e-13
    )
    assert mean_distance(library.to_device(np.ones((4, 2)))) == 1.0


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_the_mean_distance_of_rows_with_weights(library, scale):
    X, v = rows(30), scale * np.random.default_rng(0).uniform(0, 3, 30)
    found = mean_distance(library.to_device(X), library.to_device(v))
    assert found == pytest.approx(mean_distance(X, v), rel=1e-13)
