import pickle
from dataclasses import astuple

import numpy as np
import pytest
from dask import delayed
from dask.core import get_dependencies
from dask.sizeof import sizeof
from problems import support
from scipy import sparse

from ambilearn import PLCL
from ambilearn.distributed import rounds
from ambilearn.distributed.partitions import PartitionRows
from ambilearn.kernel.landmarks import LandmarkFeatures
from ambilearn.kernel.ridge import RidgeFit
from ambilearn.methods.plcl import PLCLWeights

WEIGHTS = PLCLWeights.of(PLCL())


@pytest.fixture
def whole(groups):
    X, Y, _ = groups(60)
    return PartitionRows(X, sparse.csr_array(Y), np.arange(60))


def build(rows, n_neighbors=5):
    features = LandmarkFeatures(np.eye(4, 5), "rbf", 2.0)
    return rounds.build(rows, np.arange(4), features, n_neighbors, "exact")


def classifiers(seed=0):
    rng = np.random.default_rng(seed)
    return [
        RidgeFit(rng.normal(size=(4, 4)), rng.normal(size=4), 1.0, 1.0, 1.0, 4.0) for _ in range(2)
    ]


def parts(rows):
    return [rows.take(half) for half in (slice(25), slice(25, None))]


def test_a_task_does_not_change_its_inputs(whole):
    """Dask may run it twice."""
    partition = build(whole)
    state = rounds.start(partition, WEIGHTS)
    rounds.advance(partition, state, classifiers(1), WEIGHTS)  # fills what candidates cache
    before = pickle.dumps((partition, state))
    first = rounds.advance(partition, state, classifiers(), WEIGHTS)
    rounds.contribute(partition, state, True)
    rounds.start(partition, WEIGHTS)
    assert pickle.dumps((partition, state)) == before
    again = rounds.advance(*pickle.loads(before), classifiers(), WEIGHTS)
    for one, other in zip(astuple(first), astuple(again), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_of_parts_are_the_sums_of_all(whole):
    """Without a graph nothing depends on the partition."""
    partition = build(whole, None)
    state = rounds.start(partition, WEIGHTS)
    state = rounds.advance(partition, state, classifiers(), WEIGHTS)
    expected = rounds.contribute(partition, state, True)
    collected = []
    for rows in parts(whole):
        part = build(rows, None)
        of_part = rounds.advance(part, rounds.start(part, WEIGHTS), classifiers(), WEIGHTS)
        collected.append(rounds.contribute(part, of_part, True))
    total = rounds.tree_sum([delayed(each) for each in collected]).compute(scheduler="sync")
    assert len(total) == len(expected) == 6
    for one, other in zip(total, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_contribution_holds_the_targets_of_both_classifiers(whole):
    partition = build(whole)
    state = rounds.start(partition, WEIGHTS)
    sums = rounds.contribute(partition, state, True)
    sets = support(whole.mask)
    P, Q = sets.scatter(state.p), sets.scatter(state.q, state.q_off_support)
    for got, want in zip(sums[2:], (*both(partition, P), *both(partition, Q)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
    assert len(rounds.contribute(partition, state, False)) == 4


def both(partition, targets):
    return partition.features.T @ targets, targets.sum(axis=0)


@pytest.mark.parametrize("n", [1, 2, 8, 9, 70])
def test_tree_adds_every_part_once(n):
    numbers = [(i, np.array([1.0, i])) for i in range(n)]
    total, array = rounds.tree_sum([delayed(each) for each in numbers]).compute(scheduler="sync")
    assert total == n * (n - 1) // 2
    np.testing.assert_array_equal(array, [n, total])


def test_no_task_of_the_tree_adds_many():
    total = rounds.tree_sum([delayed((i,)) for i in range(100)])
    graph = dict(total.__dask_graph__())
    assert max(len(get_dependencies(graph, key)) for key in graph) == 8


def test_outcome_stores_the_candidates(whole):
    partition = build(whole)
    state = rounds.start(partition, WEIGHTS)
    numbers, P, Q = rounds.outcome(partition, state)
    np.testing.assert_array_equal(numbers, np.arange(60))
    sets = support(whole.mask)
    np.testing.assert_array_equal(P.toarray(), sets.scatter(state.p))
    assert P.nnz == Q.nnz == len(sets.labels)


def test_sizeof_a_partition_is_that_of_its_arrays(whole):
    partition = build(whole)
    at_least = partition.features.nbytes + partition.neighborhoods.geometry.gram.nbytes
    assert at_least < sizeof(partition) < 2 * len(pickle.dumps(partition))


def test_label_that_no_row_of_a_partition_has(whole):
    rows = whole.take(whole.mask.toarray()[:, 3] == 0)
    partition = build(rows)
    state = rounds.advance(partition, rounds.start(partition, WEIGHTS), classifiers(), WEIGHTS)
    product, total = partition.candidates.target_sums(partition.features, state.p, 0.0)
    assert product.shape == (4, 4)
    assert total[3] == 0
    assert total.sum() == pytest.approx(len(rows.numbers))
