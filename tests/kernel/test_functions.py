import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist

from ambilearn.backend import HOST
from ambilearn.kernel import functions
from ambilearn.kernel.functions import cross_kernel, train_kernel


def mean_distance(X, row_weights=None):
    return functions.mean_distance(HOST.squared_distances(X), row_weights)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), rng.normal(size=(7, 4))


def test_gaussian_with_the_mean_distance(rows):
    X, Z = rows
    K, sigma = train_kernel(X, "rbf")
    assert sigma == pytest.approx(pdist(X).mean())
    np.testing.assert_allclose(K, np.exp(-(cdist(X, X) ** 2) / (2 * sigma**2)), atol=1e-12)
    np.testing.assert_allclose(
        cross_kernel(Z, X, "rbf", sigma), np.exp(-(cdist(Z, X) ** 2) / (2 * sigma**2)), atol=1e-12
    )


def test_diagonal_is_exactly_one_far_from_the_origin(rows):
    K, _ = train_kernel(rows[0] + 1e6, "rbf")
    assert (np.diag(K) == 1).all()
    assert (K <= 1).all()


def test_kernel_does_not_depend_on_blocks(rows, monkeypatch):
    X, _ = rows
    expected = train_kernel(X, "rbf")
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 64)
    K, sigma = train_kernel(X, "rbf")
    np.testing.assert_allclose(K, expected[0], atol=1e-14)
    assert sigma == pytest.approx(expected[1], rel=1e-14)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_give_the_same_kernel(rows, kernel):
    X, Z = rows
    K, sigma = train_kernel(X, kernel)
    K_sparse, sigma_sparse = train_kernel(sparse.csr_array(X), kernel)
    assert sigma_sparse == pytest.approx(sigma)
    np.testing.assert_allclose(K_sparse, K, atol=1e-12)
    np.testing.assert_allclose(
        cross_kernel(sparse.csr_array(Z), X, kernel, sigma),
        cross_kernel(Z, X, kernel, sigma),
        atol=1e-12,
    )


def test_identical_rows_have_bandwidth_one():
    K, sigma = train_kernel(np.ones((5, 3)), "rbf")
    assert sigma == 1.0
    np.testing.assert_array_equal(K, np.ones((5, 5)))


def test_callable_and_precomputed(rows):
    X, Z = rows
    cubic = lambda a, b: (a @ b.T + 1) ** 3  # noqa: E731
    np.testing.assert_allclose(cross_kernel(Z, X, cubic), (Z @ X.T + 1) ** 3)
    assert train_kernel(X, cubic)[1] is None
    K = X @ X.T
    assert train_kernel(K, "precomputed")[0] is K


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: np.ones((2, 2)), r"shape \(30, 30\).*returned shape \(2, 2\)"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "NaN or infinity"),
    ],
)
def test_invalid_kernel_function_raises(rows, kernel, message):
    with pytest.raises(ValueError, match=message):
        train_kernel(rows[0], kernel)


def test_gaussian_kernel_without_bandwidth_raises(rows):
    with pytest.raises(ValueError, match="requires a bandwidth: pass sigma"):
        cross_kernel(*rows, "rbf")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_far_from_the_origin_kernels_do_not_lose_digits(rows, kernel, form):
    """A column like a Unix time: without centering, the matrix is not even positive definite."""
    X, Z = rows
    K, sigma = train_kernel(X, kernel)
    K_far, sigma_far = train_kernel(form(X + 1e8), kernel)
    assert sigma_far == (sigma and pytest.approx(sigma, rel=1e-6))
    np.testing.assert_allclose(K_far, K, atol=1e-6)
    far = cross_kernel(form(Z + 1e8), form(X + 1e8), kernel, sigma)
    np.testing.assert_allclose(far, cross_kernel(Z, X, kernel, sigma), atol=1e-6)


def test_mean_distance_uses_row_weights(rows):
    X, times = rows[0], np.arange(len(rows[0])) % 4
    repeated = mean_distance(X.repeat(times, axis=0))
    assert mean_distance(X, np.maximum(times, 1e-12)) == pytest.approx(repeated, rel=1e-9)
    assert train_kernel(X, "rbf", row_weights=times + 0.0)[1] == pytest.approx(repeated, rel=1e-9)
    # Weights below one: the weighted mean over pairs of different rows.
    small = np.full(len(X), 1e-3)
    assert mean_distance(X, small) == pytest.approx(mean_distance(X), rel=1e-9)
    only_one = np.where(np.arange(len(X)) == 3, 1.0, 1e-12)
    assert mean_distance(X, only_one) == 1.0
