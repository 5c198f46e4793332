"""The members of a stack and of a vote as tasks of a cluster."""

import numpy as np
import pytest
from joblib import parallel_config

from ambilearn import PLKNN, PLStacking, PLVoting


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [PLStacking, PLVoting])
def test_members_are_fitted_by_the_workers(client, groups, ensemble):
    X, Y, _ = groups(80)
    members = {"random_state": 0, "estimators": [("a", _WhereFitted()), ("b", _WhereFitted())]}
    with parallel_config(backend="dask"):
        model = ensemble(**members, n_jobs=2).fit(X, Y)
    workers = set(client.run(_process_id).values())
    assert {member.process_id_ for member in model.estimators_} <= workers


@pytest.mark.slow
def test_a_stack_gives_the_same_result_on_a_cluster(client, groups):
    X, Y, _ = groups(80)
    with parallel_config(backend="dask"):
        there = PLStacking(random_state=0, n_jobs=2).fit(X, Y)
    here = PLStacking(random_state=0).fit(X, Y)
    # Workers have their own number of threads: to 1e-6, not to the bit.
    np.testing.assert_allclose(there.label_distributions_, here.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


class _WhereFitted(PLKNN):
    """A method that remembers in which process it was fitted."""

    def _fit(self, *args, **kwargs):
        self.process_id_ = _process_id()
        return super()._fit(*args, **kwargs)


def _process_id():
    import os

    return os.getpid()
