"""On a cluster of two processes, one of which is killed during a fit."""

import gc
import os
import pickle
import signal
from itertools import chain
from time import sleep

import dask
import distributed
import numpy as np
import pytest
from dask.utils import key_split

from ambilearn.distributed import DistributedPLCL
from ambilearn.distributed import blocks as blocks_module

pytestmark = pytest.mark.heavy
PARAMS = {"n_landmarks": 30, "random_state": 0, "n_partitions": 4, "max_iter": 6, "tol": 0}


@pytest.fixture(scope="module")
def expected(groups, blocks):
    """A fit in this process."""
    X, Y, _ = groups()
    with dask.config.set(scheduler="synchronous"):
        model = DistributedPLCL(**PARAMS).fit(blocks(X, 60), blocks(Y, 60))
        return model, model.label_distributions_.compute()


def assert_as_expected(model, expected):
    undisturbed, distributions = expected
    np.testing.assert_allclose(model.objective_, undisturbed.objective_)
    np.testing.assert_allclose(model.dual_coef_, undisturbed.dual_coef_, atol=1e-6)
    np.testing.assert_allclose(model.label_distributions_.compute(), distributions, atol=1e-6)
    assert model.transduction_.compute().shape == (240,)


def held_by(client):
    """Kinds of results that the workers hold."""
    keys = chain.from_iterable(client.has_what().values())
    return {key_split(key) for key in keys}


def eventually(condition):
    """Whether it holds in the end: workers release results a little later."""
    gc.collect()  # models of earlier tests may still hold something
    for _ in range(6000):
        if condition():
            return True
        sleep(0.05)
    return False


def test_processes_find_what_one_finds(client, groups, blocks, expected):
    X, Y, _ = groups()
    model = DistributedPLCL(**PARAMS).fit(blocks(X, 60), blocks(Y, 60))
    assert_as_expected(model, expected)
    assert eventually(lambda: held_by(client) == {"concatenate"})  # the results, row by row
    del model
    assert eventually(lambda: not held_by(client))


def test_partitions_are_joined_a_few_at_a_time(client, monkeypatch):
    """Two for each of the two threads, and the next only when these are there."""
    groups, real = [], blocks_module.persist_now

    def watched(parts):
        groups.append(len(parts))
        return real(parts)

    monkeypatch.setattr(blocks_module, "persist_now", watched)
    kept = blocks_module.persist_in_turn([dask.delayed(int)(i) for i in range(9)])
    assert groups == [4, 4, 1]
    assert dask.compute(*kept) == tuple(range(9))


def test_rows_that_are_on_the_cluster_already(client, groups, blocks, expected):
    X, Y, _ = groups()
    model = DistributedPLCL(**PARAMS).fit(blocks(X, 60).persist(), blocks(Y, 60).persist())
    assert_as_expected(model, expected)
    predicted = model.predict(blocks(X, 60).persist())
    np.testing.assert_array_equal(predicted.compute(), expected[0].predict(X))
    assert model.score(blocks(X, 60), blocks(Y, 60)) == expected[0].score(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), expected[0].predict(X))


def test_the_current_client_is_used(groups, blocks, expected):
    """Not the one made last, which is current unless another is chosen."""
    X, Y, _ = groups()
    options = {
        "n_workers": 1,
        "processes": False,
        "dashboard_address": "127.0.0.1:0",
        "memory_limit": 0,
    }
    with distributed.Client(**options) as chosen, distributed.Client(**options) as last:
        with chosen.as_current():
            model = DistributedPLCL(**PARAMS).fit(blocks(X, 60), blocks(Y, 60))
            assert_as_expected(model, expected)
        assert held_by(chosen)
        assert not held_by(last)
        again = DistributedPLCL(**PARAMS).fit(blocks(X, 60), blocks(Y, 60))
        assert held_by(last)
        assert_as_expected(again, expected)


class KillsAWorker(DistributedPLCL):
    """Kills a worker while the third round runs."""

    def _sums(self, partitions, states):
        self.rounds = getattr(self, "rounds", 0) + 1
        if self.rounds == 4:
            worker, held = max(self.client.has_what().items(), key=lambda item: len(item[1]))
            assert any(str(key).startswith("build") for key in held)
            pids = self.client.run(os.getpid)
            self.killed = pids[worker]
            os.kill(self.killed, getattr(signal, "SIGKILL", signal.SIGTERM))  # the latter: Windows
        return super()._sums(partitions, states)


def test_the_loss_of_a_worker_does_not_change_the_result(client, groups, blocks, expected):
    X, Y, _ = groups()
    model = KillsAWorker(**PARAMS)
    model.client = client
    model.fit(blocks(X, 60), blocks(Y, 60))
    assert model.rounds == 7
    assert model.killed not in client.run(os.getpid).values()
    assert_as_expected(model, expected)
