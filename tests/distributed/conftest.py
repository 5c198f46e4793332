"""Data that lie in blocks, and a cluster of two processes."""

import dask
import dask.array as da
import numpy as np
import pytest
from prepared import WORKERS

from ambilearn.datasets import make_candidates

PATIENCE = 600  # seconds: a busy machine may take long to start a process


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
def cluster_client(tmp_path_factory):
    """Client of two worker processes with one thread each."""
    distributed = pytest.importorskip("distributed")
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "memory_limit": 0,  # the tests are small, whatever the machine has
        "dashboard_address": "127.0.0.1:0",  # any port that is free
        "local_directory": str(tmp_path_factory.mktemp("dask")),
    }
    with (
        dask.config.set({"distributed.comm.timeouts.connect": PATIENCE, **WORKERS}),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, timeout=PATIENCE) as client,
    ):
        yield client


@pytest.fixture
def client(cluster_client):
    """The same with both workers there, also after a test that killed one."""
    cluster_client.wait_for_workers(2)
    return cluster_client
