import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_mask, support
from scipy import sparse
from scipy.spatial.distance import cdist

from ambilearn.backend.host.products import neighbor_products, restrict_to_support


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("block", [1, 2**16])
def test_products_of_rows_and_neighbors(form, block, monkeypatch):
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", block)
    rows = np.random.default_rng(0).normal(size=(40, 5))
    X, queries = rows[:28], rows[28:]
    neighbor_indices = np.argsort(cdist(queries, X), axis=1)[:, :4]
    products = neighbor_products(form(queries), form(X), neighbor_indices)
    assert products.shape == (12, 5, 5)
    for x, members, block_products in zip(queries, neighbor_indices, products, strict=True):
        together = np.vstack([x, X[members]])
        np.testing.assert_allclose(block_products, together @ together.T, atol=1e-12)


def restrict(graph, sets):
    return restrict_to_support(graph, sets.indptr, sets.labels)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 6), st.floats(0, 1))
def test_restriction_equals_the_graph_on_the_support(seed, n, n_labels, extra):
    """Any graph, symmetric or not, with empty rows or without."""
    rng = np.random.default_rng(seed)
    sets = support(random_mask(rng, n, n_labels, extra))
    graph = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5)
    p = rng.normal(size=sets.indptr[-1])
    restricted = restrict(sparse.csr_array(graph), sets)
    assert restricted.shape == (len(p), len(p))
    np.testing.assert_allclose(restricted @ p, sets.gather(graph @ sets.scatter(p)), atol=1e-12)


def test_restriction_has_only_shared_labels():
    sets = support([{0, 1}, {1, 2}, {3}])
    graph = sparse.csr_array(np.array([[0, 0.5, 0.7], [0.2, 0, 0], [0, 0, 0.9]]))
    restricted = restrict(graph, sets)
    expected = np.zeros((5, 5))
    expected[1, 2], expected[2, 1], expected[4, 4] = 0.5, 0.2, 0.9
    np.testing.assert_array_equal(restricted.toarray(), expected)
    assert restricted.nnz == 3
