import numpy as np
import pytest
from scipy import sparse

from ambilearn.solvers.centering import column_centers, subtract_from_rows


@pytest.mark.array_library
def test_dense_rows_are_centered_at_their_mean(library):
    X = np.random.default_rng(0).normal(size=(6, 3)) + 5
    there = library.to_device(X)
    centered = subtract_from_rows(there, column_centers(there))
    np.testing.assert_allclose(library.to_host(centered), X - X.mean(axis=0))


def test_sparse_rows_stay_sparse():
    X = np.zeros((10, 2000))
    X[:, 0] = np.arange(10) + 1e6  # all entries stored
    X[:6, 1] = 7.0  # more than half
    X[:4, 2] = 7.0
    S = sparse.csr_array(X)
    center = column_centers(S)
    np.testing.assert_array_equal(np.flatnonzero(center), [0, 1])
    np.testing.assert_array_equal(center[:2], [1e6 + 4.5, 7.0])
    centered = subtract_from_rows(S, center)
    assert sparse.issparse(centered)
    assert centered.nnz <= 20
    np.testing.assert_array_equal(centered.toarray(), X - center)
    assert subtract_from_rows(S, np.zeros(2000)) is S
