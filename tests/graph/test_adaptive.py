import warnings

import numpy as np
import pytest
from literal import confidence_step, graph_step, knn, literal_grams, unit_rows
from problems import ambiguous, support
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from ambilearn import PLAGGD
from ambilearn.backend import HOST
from ambilearn.backend.host.products import squared_kernel_distances
from ambilearn.graph.adaptive import LocalGeometry, Neighborhoods, duplicate_averages, initial_graph
from ambilearn.solvers import solve_confidences, solve_neighbor_weights, support_graph


@pytest.fixture
def problem():
    X, Y, _ = ambiguous(n=30)
    return X, Y, support(Y)


def test_weights_reconstruct_features(problem):
    X, _, sets = problem
    graph = Neighborhoods(LocalGeometry(X, 5), sets).fit_graph(1.0)
    unit = unit_rows(X)
    expected = graph_step(unit, np.zeros((30, 1)), knn(unit, 5), 1.0, 0.0).T
    np.testing.assert_allclose(graph.output().toarray(), expected, atol=1e-5)
    assert graph.feature_roughness() == pytest.approx(np.sum((unit - expected @ unit) ** 2))


def test_weights_do_not_depend_on_the_start(problem):
    X, Y, sets = problem
    P = Y / Y.sum(axis=1, keepdims=True)
    unit = unit_rows(X)
    expected = graph_step(unit, P, knn(unit, 5), 0.3, 2.0).T
    neighborhoods, p = Neighborhoods(LocalGeometry(X, 5), sets), sets.gather(P)
    cold = neighborhoods.fit_graph(0.3, 2.0, p)
    warm = neighborhoods.fit_graph(1.0).refit(0.3, 2.0, p)
    for graph in (cold, warm):
        np.testing.assert_allclose(graph.output().toarray(), expected, atol=1e-5)


def test_result_does_not_depend_on_row_blocks(problem, monkeypatch):
    X, _, sets = problem
    whole = Neighborhoods(LocalGeometry(X, 5), sets)
    monkeypatch.setattr(support_graph, "_MAX_BLOCK_ROWS", 7)
    parts = Neighborhoods(LocalGeometry(X, 5), sets)
    weights = [
        each.fit_graph(1.0).refit(0.5, 1.0, sets.uniform()).weights for each in (whole, parts)
    ]
    np.testing.assert_allclose(*weights, atol=1e-12)


def test_refit_does_not_change_the_graph(problem):
    X, _, sets = problem
    graph = Neighborhoods(LocalGeometry(X, 5), sets).fit_graph(1.0)
    first, roughness = graph.weights.copy(), graph.label_roughness(sets.uniform())
    other = graph.refit(0.1, 3.0, sets.uniform())
    assert not np.array_equal(other.weights, first)
    np.testing.assert_array_equal(graph.weights, first)
    assert graph.label_roughness(sets.uniform()) == roughness
    with pytest.raises(AttributeError):
        graph.weights = other.weights


def test_initial_confidences_are_the_smoothest(problem):
    X, _, sets = problem
    graph, p = initial_graph(LocalGeometry(X, 5), sets)
    np.testing.assert_array_equal(
        graph.weights, Neighborhoods(LocalGeometry(X, 5), sets).fit_graph(1.0).weights
    )
    np.testing.assert_allclose(np.add.reduceat(p, sets.indptr[:-1]), 1)
    assert graph.label_roughness(p) < graph.label_roughness(sets.uniform())


def test_smoothing_and_roughness(problem):
    X, Y, sets = problem
    graph = Neighborhoods(LocalGeometry(X, 5), sets).fit_graph(1.0)
    W = graph.output().toarray()
    O = np.random.default_rng(1).random(Y.shape)
    p = graph.smooth(sets.uniform(), sets.gather(O), 0.8)
    P = sets.scatter(p)
    np.testing.assert_allclose(P, confidence_step(O, W.T, Y, 2 / 0.8), atol=1e-6)
    assert graph.label_roughness(p) == pytest.approx(np.sum((P - W @ P) ** 2))
    rest = graph.smooth(sets.uniform(), None, 1.0)
    assert graph.label_roughness(rest) <= graph.label_roughness(p)


def test_step_limit_in_one_block_is_reported(problem, monkeypatch):
    X, _, sets = problem
    monkeypatch.setattr(support_graph, "_MAX_BLOCK_ROWS", 7)
    monkeypatch.setitem(solve_neighbor_weights.__kwdefaults__, "max_steps", 2)
    neighborhoods = Neighborhoods(LocalGeometry(X, 5), sets)
    with pytest.warns(ConvergenceWarning, match="neighbor weights are not exact") as caught:
        graph = neighborhoods.fit_graph(1.0)
    assert len(caught) == 1
    np.testing.assert_allclose(graph.weights.sum(axis=1), 1)


def test_step_limit_is_reported(problem, monkeypatch):
    X, _, sets = problem
    graph = Neighborhoods(LocalGeometry(X, 5), sets).fit_graph(1.0)
    monkeypatch.setitem(solve_confidences.__kwdefaults__, "max_steps", 1)
    with pytest.warns(ConvergenceWarning, match="label confidences are not exact"):
        graph.smooth(sets.uniform(), None, 1.0)


def test_duplicate_neighbors_have_equal_weights(problem):
    """The weights are the best ones for groups of coinciding neighbors."""
    X, Y, sets = problem
    X[[4, 9, 13, 20, 21, 22]] = X[3]
    X[17] = 0
    neighborhoods = Neighborhoods(LocalGeometry(X, 5), sets)
    p = sets.gather(Y / Y.sum(axis=1, keepdims=True))
    weights = neighborhoods.fit_graph(1.0).refit(0.3, 2.0, p).weights
    unit = unit_rows(X)
    P = sets.to_csr(p).toarray()
    for i, members in enumerate(neighborhoods.geometry.neighbor_indices):
        same = (np.abs(unit[members][:, None] - unit[members]) < 1e-12).all(axis=2)
        shares = np.unique(same / same.sum(axis=1), axis=0).T
        features, labels = unit[i] - unit[members], P[i] - P[members]
        gram = shares.T @ (0.3 * features @ features.T + 2.0 * labels @ labels.T) @ shares
        expected = shares @ solve_neighbor_weights(gram[None]).value[0]
        np.testing.assert_allclose(weights[i], expected, atol=1e-6)


# --- local geometry -----------------------------------------------------------------------------


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


@pytest.mark.parametrize("seed", range(4))
def test_duplicates_far_from_a_sparse_row_share_their_weight(seed):
    """Centered rows of unit length are up to 2 long, with larger rounding errors."""
    X = np.random.default_rng(seed).normal(size=(8, 3)) + 4
    X[:2], X[2] = 0, -X[2]
    dense, stored = (LocalGeometry(form(X), 7).averages for form in (np.asarray, sparse.csr_array))
    assert (dense[2:] == 0.5).sum() == 4 * 6  # both places of both duplicates
    np.testing.assert_array_equal(np.sort(stored[2:], axis=None), np.sort(dense[2:], axis=None))


def test_distances_of_rounding_in_a_kernel_matrix_are_zero(X):
    X[7] = X[3]
    K = X @ X.T
    K[3, 7] *= 1 - 1e-15
    assert squared_kernel_distances(K)[3, 7] == 0
