import numpy as np
import pytest
from dask import delayed
from scipy import sparse

from ambilearn.distributed.blocks import RowBlocks
from ambilearn.distributed.row_results import RowResults

pytestmark = pytest.mark.usefixtures("here")

P = np.array([[0.2, 0.8, 0], [1, 0, 0], [0, 0.5, 0.5], [0, 0, 1], [0.1, 0, 0.9]])
MASK = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [1, 0, 1]])  # row 1: 0 at candidate 2
NAMES = np.array(["ant", "bee", "cow"])


def stored(values, mask):
    """CSR matrix that stores every candidate, also the zeros."""
    matrix = sparse.csr_array(mask.astype(float))
    matrix.data = values[mask.astype(bool)]
    return matrix


def results(mask):
    X = [delayed(np.ones((2, 1))), delayed(np.ones((0, 1))), delayed(np.ones((3, 1)))]
    parts = [slice(2), slice(2, 2), slice(2, 5)]
    blocks = [delayed((stored(P[s], MASK[s]), stored(1 - P[s], MASK[s]))) for s in parts]
    return RowResults(blocks, RowBlocks(X, mask))


def test_dense_mask_gives_dense_distributions():
    made = results([set(NAMES[row.astype(bool)]) for row in MASK])
    got = made.distributions(0)
    assert got.shape == (5, 3)
    assert got.chunks == ((2, 3), (3,))  # Dask leaves out empty blocks
    np.testing.assert_array_equal(got.compute(), P)
    Q = np.where(MASK, 1 - P, 1.0)
    np.testing.assert_array_equal(made.distributions(1, off_support=1.0).compute(), Q)


def test_sparse_mask_gives_sparse_distributions():
    got = results(sparse.csr_array(MASK)).distributions(0).compute()
    assert sparse.issparse(got)
    assert got.nnz == MASK.sum()
    np.testing.assert_array_equal(got.toarray(), P)


def test_best_candidate_of_every_row():
    made = results([set(NAMES[row.astype(bool)]) for row in MASK])
    got = made.transduction()
    assert got.shape == (5,)
    assert got.dtype == NAMES.dtype
    assert got.compute().tolist() == ["bee", "ant", "bee", "cow", "cow"]
