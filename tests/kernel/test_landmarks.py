import warnings

import numpy as np
import pytest
from problems import ambiguous
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ambilearn import LALO, PLAGGD, PLCL, SURE
from ambilearn.datasets import make_candidates
from ambilearn.kernel import landmarks as low_rank
from ambilearn.kernel.landmarks import (
    LandmarkFeatures,
    choose_landmarks,
    kmeans_centers,
    sample_limit,
    sampled_sigma,
)

METHODS = [PLCL, PLAGGD, LALO, SURE]


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(60, 4))


def gaussian(X, Z, sigma):
    return np.exp(-(cdist(X, Z) ** 2) / (2 * sigma**2))


def test_products_of_features_are_the_nystrom_kernel(rows):
    landmarks = rows[::5]
    features = LandmarkFeatures(landmarks, "rbf", 1.5).transform(rows)
    across = gaussian(rows, landmarks, 1.5)
    expected = across @ np.linalg.solve(gaussian(landmarks, landmarks, 1.5), across.T)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-10)


def test_all_rows_as_landmarks_give_the_exact_kernel(rows):
    features = LandmarkFeatures(rows, "rbf", 2.0).transform(rows)
    np.testing.assert_allclose(features @ features.T, gaussian(rows, rows, 2.0), atol=1e-10)


def test_equal_landmarks_only_lower_the_rank(rows):
    once = LandmarkFeatures(rows[:8], "rbf", 1.0).transform(rows)
    twice = LandmarkFeatures(np.vstack([rows[:8], rows[:8]]), "rbf", 1.0).transform(rows)
    assert twice.shape[1] == 8
    np.testing.assert_allclose(twice @ twice.T, once @ once.T, atol=1e-9)


def test_blocks_do_not_matter(rows, monkeypatch):
    features = LandmarkFeatures(rows[:8], "rbf", 1.0)
    whole = features.transform(rows)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 30)
    np.testing.assert_allclose(features.transform(rows), whole, atol=1e-12)


def test_callable_kernel(rows):
    def quadratic(a, b):
        return (1 + a @ b.T) ** 2

    features = LandmarkFeatures(rows[:20], quadratic).transform(rows)
    # Quadratic polynomials of 4 variables have dimension 15: 20 landmarks span them all.
    assert features.shape[1] == 15
    np.testing.assert_allclose(features @ features.T, quadratic(rows, rows), rtol=1e-6)


@pytest.mark.parametrize("how", ["kmeans", "uniform"])
def test_landmarks_depend_only_on_the_seed(rows, how):
    first = choose_landmarks(rows, 9, how, 3)
    assert first.shape == (9, 4)
    np.testing.assert_array_equal(first, choose_landmarks(rows, 9, how, 3))
    assert not np.array_equal(first, choose_landmarks(rows, 9, how, 4))


def test_uniform_landmarks_are_distinct_rows(rows):
    chosen = choose_landmarks(rows, 30, "uniform", 0)
    positions = [np.flatnonzero((rows == z).all(axis=1)).item() for z in chosen]
    assert len(set(positions)) == 30


def test_kmeans_landmarks_are_cluster_centers():
    centers = np.array([[0.0, 0], [50, 0], [0, 50], [50, 50]])
    rng = np.random.default_rng(0)
    X = np.repeat(centers, 25, axis=0) + rng.normal(size=(100, 2))
    found = choose_landmarks(X, 4, "kmeans", 0)
    assert cdist(centers, found).min(axis=1).max() < 1.0


def test_kmeans_uses_a_sample(rows, monkeypatch):
    seen = []

    def watched(X, *args, **options):
        seen.append(X.shape)
        return kmeans_centers(X, *args, **options)

    monkeypatch.setattr(low_rank, "kmeans_centers", watched)
    monkeypatch.setattr(low_rank, "_ROWS_PER_LANDMARK", 5)
    choose_landmarks(rows, 4, "kmeans", 0)
    assert seen == [(20, 4)]


@pytest.mark.parametrize("how", ["kmeans", "uniform"])
def test_landmarks_are_at_most_all_rows(rows, how):
    assert choose_landmarks(rows, 200, how, 0) is rows


def test_bandwidth_of_few_rows_is_exact_and_of_many_close(rows, monkeypatch):
    exact = pdist(rows).mean()
    assert sampled_sigma(rows, 0) == pytest.approx(exact)
    monkeypatch.setattr(low_rank, "_MAX_SIGMA_ROWS", 40)
    sampled = sampled_sigma(rows, 0)
    assert sampled != pytest.approx(exact, rel=1e-9)
    assert sampled == pytest.approx(exact, rel=0.1)
    assert sampled == sampled_sigma(rows, 0)


def test_sampled_bandwidth_uses_row_weights(rows, monkeypatch):
    v = np.arange(len(rows)) % 3 + 1.0
    exact = pdist(rows.repeat(v.astype(int), axis=0)).mean()
    assert sampled_sigma(rows, 0, v) == pytest.approx(exact)
    monkeypatch.setattr(low_rank, "_MAX_SIGMA_ROWS", 40)
    assert sampled_sigma(rows, 0, v) == pytest.approx(exact, rel=0.1)
    assert sampled_sigma(rows, 0, v) != sampled_sigma(rows, 0)


@pytest.mark.parametrize("how", ["kmeans", "uniform"])
def test_large_data_is_sampled(rows, how, monkeypatch):
    """So the rows may be elsewhere."""
    monkeypatch.setattr(low_rank, "_MAX_SIGMA_ROWS", 40)
    monkeypatch.setattr(low_rank, "_ROWS_PER_LANDMARK", 5)

    class Elsewhere:
        shape = rows.shape

        def __getitem__(self, picked):
            assert len(picked) <= sample_limit(4) < len(rows)
            return rows[picked]

    assert sampled_sigma(Elsewhere(), 0) == sampled_sigma(rows, 0)
    expected = choose_landmarks(rows, 4, how, 0)
    np.testing.assert_array_equal(choose_landmarks(Elsewhere(), 4, how, 0), expected)


@pytest.mark.parametrize("method", METHODS)
def test_all_rows_as_landmarks_give_the_exact_model(method):
    X, mask, _ = ambiguous(n=80, n_labels=5, seed=2)
    exact = method(max_iter=5, tol=0).fit(X, mask)
    found = method(max_iter=5, tol=0, n_landmarks=80).fit(X, mask)
    np.testing.assert_allclose(found.label_distributions_, exact.label_distributions_, atol=1e-6)
    np.testing.assert_allclose(found.train_output_, exact.train_output_, atol=1e-6)
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(found.objective_, exact.objective_, rtol=1e-7)
    assert found.sigma_ == pytest.approx(exact.sigma_)


@pytest.mark.parametrize("how", ["kmeans", "uniform"])
@pytest.mark.parametrize("method", METHODS)
def test_low_rank_model_approaches_the_exact_model(method, how):
    X, mask, _ = ambiguous(n=300, d=3, n_labels=4, seed=3)
    exact = method(max_iter=3, tol=0).fit(X, mask).decision_function(X)

    def error(m):
        model = method(max_iter=3, tol=0, n_landmarks=m, landmarks=how, random_state=0)
        return np.abs(model.fit(X, mask).decision_function(X) - exact).mean()

    few, more, many = error(4), error(40), error(150)
    assert many < more < few
    assert many < 0.01 * few


@pytest.mark.slow
def test_low_rank_keeps_accuracy_on_digits():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    sets, _ = make_candidates(y, p=0.7, r=2, random_state=0)
    train, test = np.arange(0, 1797, 2), np.arange(1, 1797, 2)
    exact = PLCL().fit(X[train], sets[train]).score(X[test], y[test])
    model = PLCL(n_landmarks=300, random_state=0).fit(X[train], sets[train])
    assert abs(model.score(X[test], y[test]) - exact) <= 0.01


def test_a_linear_kernel_needs_no_landmarks():
    X, mask, _ = ambiguous(seed=6)
    with_landmarks = SURE(kernel="linear", n_landmarks=3).fit(X, mask)
    np.testing.assert_array_equal(with_landmarks.coef_, SURE(kernel="linear").fit(X, mask).coef_)


def test_precomputed_kernel_with_landmarks_raises():
    X, mask, _ = ambiguous(seed=7)
    with pytest.raises(ValueError, match="n_landmarks is not supported with kernel="):
        PLCL(kernel="precomputed", n_landmarks=3).fit(X @ X.T, mask)


@pytest.mark.parametrize("value", [0, -3, 2.5, True])
def test_a_bad_number_of_landmarks(value):
    X, mask, _ = ambiguous(seed=8)
    with pytest.raises(ValueError, match="n_landmarks"):
        PLCL(n_landmarks=value).fit(X, mask)


def test_sparse_rows_and_duplicates():
    X, mask, _ = ambiguous(n=60, seed=9)
    X[20:] = X[:40]  # 20 distinct rows at most twice or three times
    dense = PLCL(n_landmarks=12, landmarks="uniform", random_state=0, n_neighbors=5).fit(X, mask)
    loose = PLCL(n_landmarks=12, landmarks="uniform", random_state=0, n_neighbors=5)
    loose.fit(sparse.csr_array(X), mask)
    np.testing.assert_allclose(loose.label_distributions_, dense.label_distributions_, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PLCL(n_landmarks=50, random_state=0, n_neighbors=5).fit(X, mask)


@pytest.fixture(scope="module")
def many_rows():
    return np.random.default_rng(0).normal(size=(3000, 6))


def test_results_do_not_depend_on_the_number_of_threads(many_rows):
    with threadpool_limits(1):
        expected = KMeans(40, n_init=1, random_state=0).fit(many_rows).cluster_centers_
    with threadpool_limits(4):
        np.testing.assert_array_equal(kmeans_centers(many_rows, 40, 0), expected)


def test_few_iterations_end_early_without_a_warning(many_rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        early = kmeans_centers(many_rows, 40, 0, max_iter=1)
    late = kmeans_centers(many_rows, 40, 0)

    def spread(centers):
        return (cdist(many_rows, centers).min(axis=1) ** 2).sum()

    assert spread(late) < 0.99 * spread(early)


def test_equal_rows_give_equal_centers_without_a_warning():
    X = np.repeat(np.eye(3), 4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        centers = kmeans_centers(X, 5, 0)
    assert centers.shape == (5, 3)
    assert len(np.unique(centers, axis=0)) == 3


def test_sparse_rows(many_rows):
    X = np.where(many_rows > 0.5, many_rows, 0.0)
    np.testing.assert_allclose(
        kmeans_centers(sparse.csr_array(X), 5, 0), kmeans_centers(X, 5, 0), atol=1e-9
    )
