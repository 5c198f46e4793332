"""What PL-KNN, IPAL, LALO and PLDA need of ``graphs``: distances, products, rows that are new."""

import warnings

import numpy as np
import pytest
from literal_methods import nearest
from scipy import sparse
from scipy.spatial.distance import cdist

from ambilearn.graphs import (
    nearest_neighbours,
    neighbour_distances,
    neighbour_products,
    pair_distances,
    squared_kernel_distances,
    usable_neighbours,
    weights_to_csr,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(40, 5)), rng.normal(size=(12, 5))
    X[np.abs(X) < 0.3] = 0
    return X, queries


forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


def test_usable_neighbours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert usable_neighbours(3, 4) == 3
    with pytest.warns(UserWarning, match="n_neighbors=4 but there are only 4 rows") as caught:
        assert usable_neighbours(4, 4) == 3
    assert caught[0].filename == __file__


@forms
@pytest.mark.parametrize("k", [1, 7, 40])
def test_neighbours_of_new_rows(data, form, k):
    X, queries = data
    found = nearest_neighbours(form(X), k, queries=form(queries))
    np.testing.assert_array_equal(found, [nearest(x, X, k)[0] for x in queries])


def test_a_training_row_asked_as_a_new_one_finds_itself(data):
    X, _ = data
    assert (nearest_neighbours(X, 3, queries=X)[:, 0] == np.arange(40)).all()


@forms
@pytest.mark.parametrize("block", [1, 100, 2**16])
def test_distances(data, form, block, monkeypatch):
    monkeypatch.setattr("ambilearn.graphs._BLOCK", block)
    X, queries = data
    rows, others = np.array([0, 3, 3, 11]), np.array([39, 0, 0, 7])
    distances = pair_distances(form(queries), rows, form(X), others)
    full = cdist(queries, X)
    np.testing.assert_allclose(distances, full[rows, others])
    neighbours = nearest_neighbours(X, 6, queries=queries)
    np.testing.assert_allclose(
        neighbour_distances(form(queries), form(X), neighbours),
        np.take_along_axis(full, neighbours, axis=1),
    )


@forms
def test_duplicates_are_at_distance_zero(form):
    """A matrix product would leave 1e-6 here."""
    X = 1e3 + np.random.default_rng(0).normal(size=(5, 300))
    X = form(np.concatenate([X, X]))
    assert (neighbour_distances(X, X, nearest_neighbours(X, 1)) == 0).all()


@forms
@pytest.mark.parametrize("block", [1, 2**16])
def test_products_of_rows_and_neighbours(data, form, block, monkeypatch):
    monkeypatch.setattr("ambilearn.graphs._BLOCK", block)
    X, queries = data
    neighbours = nearest_neighbours(X, 4, queries=queries)
    products = neighbour_products(form(queries), form(X), neighbours)
    assert products.shape == (12, 5, 5)
    for x, members, block_products in zip(queries, neighbours, products, strict=True):
        together = np.vstack([x, X[members]])
        np.testing.assert_allclose(block_products, together @ together.T, atol=1e-12)


def test_kernel_distances(data):
    X, _ = data
    squared = squared_kernel_distances(X @ X.T)
    np.testing.assert_allclose(squared, cdist(X, X) ** 2, atol=1e-10)
    assert (squared >= 0).all()


def test_weights_on_training_rows():
    graph = weights_to_csr(np.array([[2, 0]]), np.array([[0.3, 0.7]]), n_columns=4)
    np.testing.assert_array_equal(graph.toarray(), [[0.7, 0, 0.3, 0]])
