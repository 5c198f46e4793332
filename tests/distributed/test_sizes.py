import pickle

import numpy as np
import pytest
from dask.sizeof import sizeof
from scipy import sparse

from ambilearn.distributed.partitions import PartitionRows


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_sparse_arrays(form):
    array = form(np.random.default_rng(0).normal(size=(100, 200)))
    assert 8 * 100 * 200 < sizeof(array) < 1.1 * len(pickle.dumps(array))


def test_rows_count_with_their_candidates():
    X, mask = np.ones((100, 30)), sparse.csr_array(np.ones((100, 20), dtype=bool))
    rows = PartitionRows(X, mask, np.arange(100))
    assert sizeof(rows) >= X.nbytes + sizeof(mask) + 800
    assert sizeof([rows, rows]) >= 2 * sizeof(rows)  # as in the pieces of a block
