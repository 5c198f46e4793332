import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from ambilearn.backend.host.products import neighbor_products


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
