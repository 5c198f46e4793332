"""Data that lie in blocks, and a cluster of two processes."""

import os

import dask
import dask.array as da
import numpy as np
import pytest

from ambilearn.datasets import make_candidates


@pytest.fixture
def here():
    """Run tasks in this process, one after the other."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def groups():
    """Function (n, seed) → X, candidate mask and labels of four groups in five dimensions."""

    def make(n=240, seed=0):
        rng = np.random.default_rng(seed)
        y = rng.integers(4, size=n)
        X = 2.5 * np.eye(4, 5)[y] + rng.normal(size=(n, 5))
        sets, _ = make_candidates(y, p=0.8, r=1, random_state=seed)
        return X, sets.to_mask(), y

    return make


@pytest.fixture(scope="session")
def blocks():
    """Function (array, rows) → dask array in blocks of so many rows."""
    return lambda array, rows: da.from_array(array, chunks=(rows, *array.shape[1:]))


@pytest.fixture(scope="module")
def client():
    """Client of two worker processes with one thread each."""
    distributed = pytest.importorskip("distributed")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client
