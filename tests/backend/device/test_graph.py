import numpy as np
import pytest
from scipy import sparse

from ambilearn.candidates import as_candidates
from ambilearn.solvers import SupportGraph, support_graph_on_device
from ambilearn.solvers.support_graph import restrict_to_support
from ambilearn.backend.device.graph import DeviceSupportGraph, restricted_pattern


class Problem:
    """Random candidate sets, neighbours and weights; one row has every label."""

    def __init__(self, n=23, k=4, n_labels=7):
        rng = np.random.default_rng(0)
        mask = rng.random((n, n_labels)) < 0.3
        mask[np.arange(n), rng.integers(n_labels, size=n)] = True
        mask[4] = True
        self.sets = as_candidates(mask)
        self.neighbors = np.array(
            [rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)]
        )
        self.weights = rng.dirichlet(np.ones(k), size=n)
        self.weights[2] = [0.0, 1.0, 0.0, 0.0]
        self.p = rng.random(len(self.sets.labels))
        self.host = SupportGraph(self.sets.indptr, self.sets.labels, self.neighbors)

    def graph(self, there):
        arrays = self.sets.indptr, self.sets.labels, self.neighbors
        return DeviceSupportGraph(*map(there.move, arrays))


@pytest.fixture(params=[1000, 5])
def blocks(request, monkeypatch):
    """All rows in one block, or several blocks."""
    monkeypatch.setattr(support_graph_on_device, "_MAX_BLOCK_ROWS", request.param)


def test_the_roughness_is_that_of_the_processor(there, blocks):
    problem = Problem()
    found = problem.graph(there).roughness(there.move(problem.weights)) @ there.move(problem.p)
    expected = problem.host.roughness(problem.weights) @ problem.p
    np.testing.assert_allclose(there.back(found), expected, atol=1e-14)


def test_the_roughness_by_definition(there, blocks):
    problem = Problem()
    W = np.zeros((23, 23))
    np.put_along_axis(W, problem.neighbors, problem.weights, axis=1)
    P = problem.sets.scatter(problem.p)
    expected = problem.sets.gather((np.eye(23) - W).T @ (np.eye(23) - W) @ P)
    found = problem.graph(there).roughness(there.move(problem.weights)) @ there.move(problem.p)
    np.testing.assert_allclose(there.back(found), expected, atol=1e-14)


def test_the_gram_matrices_are_those_of_the_processor(there, blocks):
    problem = Problem()
    graph, p = problem.graph(there), there.move(problem.p)
    found = [there.back(graph.difference_grams(p, block)) for block in graph.blocks]
    expected = [problem.host.difference_grams(problem.p, block) for block in problem.host.blocks]
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected), atol=1e-14)


def test_the_blocks_cover_the_rows_in_order(there, blocks):
    rows = [block.rows for block in Problem().graph(there).blocks]
    assert np.concatenate([np.arange(23)[each] for each in rows]).tolist() == list(range(23))


def test_a_graph_on_the_support(there):
    problem = Problem()
    graph = sparse.random_array((23, 23), density=0.2, rng=np.random.default_rng(1)).tocsr()
    rows = np.repeat(np.arange(23), np.diff(graph.indptr))
    indices = rows, graph.indices.astype(np.int64), problem.sets.indptr, problem.sets.labels
    pattern, edge = restricted_pattern(*map(there.move, indices))
    found = pattern.matrix(there.move(graph.data[there.back(edge)])) @ there.move(problem.p)
    expected = restrict_to_support(graph, problem.sets.indptr, problem.sets.labels) @ problem.p
    np.testing.assert_allclose(there.back(found), expected, atol=1e-14)
