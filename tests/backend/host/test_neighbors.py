import numpy as np
import pytest
from literal import literal_grams, unit_rows
from scipy import sparse
from scipy.spatial.distance import cdist

from ambilearn.backend.host import neighbors
from ambilearn.graph.neighbors import NeighborSearch


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 5))


@pytest.mark.parametrize("block", [1, 100, 2**16])
def test_difference_grams(X, block, monkeypatch):
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", block)
    neighbor_indices = NeighborSearch().fit(X, 6)
    np.testing.assert_allclose(
        neighbors.difference_grams(X, neighbor_indices),
        literal_grams(X, neighbor_indices),
        atol=1e-12,
    )


def test_weights_to_csr():
    neighbor_indices = np.array([[2, 1], [0, 2], [1, 0]])
    weights = np.array([[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]])
    graph = neighbors.weights_to_csr(neighbor_indices, weights)
    assert graph.format == "csr"
    assert graph.nnz == 5
    np.testing.assert_array_equal(
        neighbor_indices, [[2, 1], [0, 2], [1, 0]]
    )  # not reordered in place
    np.testing.assert_array_equal(weights, [[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]])
    np.testing.assert_array_equal(graph.toarray(), [[0, 0.7, 0.3], [1, 0, 0], [0.5, 0.5, 0]])


def test_weights_to_csr_is_square_when_the_last_rows_are_nobodys_neighbor():
    graph = neighbors.weights_to_csr(np.array([[1], [0], [0]]), np.ones((3, 1)))
    assert graph.shape == (3, 3)


@pytest.mark.parametrize("scale", [1e-60, 1e-20, 1.0, 1e60])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_of_any_length_become_unit_rows(X, scale, form):
    X[3] = 0
    unit = neighbors.unit_rows(form(X * scale))
    unit = unit.toarray() if sparse.issparse(unit) else unit
    np.testing.assert_allclose(unit, unit_rows(X), atol=1e-14)


def test_weights_on_training_rows():
    graph = neighbors.weights_to_csr(np.array([[2, 0]]), np.array([[0.3, 0.7]]), n_columns=4)
    np.testing.assert_array_equal(graph.toarray(), [[0.7, 0, 0.3, 0]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("block", [1, 100, 2**16])
def test_distances(X, form, block, monkeypatch):
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", block)
    queries = X[::3] + 0.3
    rows, others = np.array([0, 3, 3, 11]), np.array([39, 0, 0, 7])
    distances = neighbors.pair_distances(form(queries), rows, form(X), others)
    full = cdist(queries, X)
    np.testing.assert_allclose(distances, full[rows, others])
    neighbor_indices = np.argsort(full, axis=1)[:, :6]
    np.testing.assert_allclose(
        neighbors.neighbor_distances(form(queries), form(X), neighbor_indices),
        np.take_along_axis(full, neighbor_indices, axis=1),
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_duplicates_are_at_distance_zero(form):
    """A matrix product would leave 1e-6 here."""
    X = 1e3 + np.random.default_rng(0).normal(size=(5, 300))
    X = form(np.concatenate([X, X]))
    assert (neighbors.neighbor_distances(X, X, NeighborSearch().fit(X, 1)) == 0).all()


def test_gram_matrices_of_sparse_rows_that_nearly_coincide(X):
    """Unit rows of features far from the origin differ little."""
    unit = unit_rows(X + 1e4)
    neighbor_indices = NeighborSearch().fit(unit, 6)
    expected = neighbors.difference_grams(unit, neighbor_indices)
    gram = neighbors.difference_grams(sparse.csr_array(unit), neighbor_indices)
    np.testing.assert_allclose(gram, expected, atol=1e-6 * expected.max())
