import numpy as np
import pytest
from scipy import sparse

from ambilearn.methods._outputs import side_by_side

X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
Z = np.array([[0.0], [5.0], [6.0]])


def test_columns_of_all_blocks_in_their_order(library):
    found = side_by_side(library.to_device(X), library.to_device(Z), library.to_device(X))
    assert library.holds(found)
    np.testing.assert_array_equal(library.to_host(found), np.hstack([X, Z, X]))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_features_stay_sparse(form):
    found = side_by_side(form(X), Z)
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), np.hstack([X, Z]))
    assert found.nnz == 5
