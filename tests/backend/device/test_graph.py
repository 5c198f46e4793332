import numpy as np
import pytest
from problems import support
from scipy import sparse

from ambilearn.backend.device import graph as device_graph
from ambilearn.backend.device.graph import (
    DeviceGraph,
    DeviceSupportGraph,
    graph_of_neighbors,
    restricted_matrix,
)
from ambilearn.backend.host.neighbors import weights_to_csr
from ambilearn.backend.host.products import restrict_to_support
from ambilearn.solvers import SupportGraph


class Problem:
    """Random candidate sets, neighbors and weights; one row has every label."""

    def __init__(self, n=23, k=4, n_labels=7):
        rng = np.random.default_rng(0)
        mask = rng.random((n, n_labels)) < 0.3
        mask[np.arange(n), rng.integers(n_labels, size=n)] = True
        mask[4] = True
        self.sets = support(mask)
        self.neighbors = np.array(
            [rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)]
        )
        self.weights = rng.dirichlet(np.ones(k), size=n)
        self.weights[2] = [0.0, 1.0, 0.0, 0.0]
        self.p = rng.random(len(self.sets.labels))
        self.host = SupportGraph(self.sets.indptr, self.sets.labels, self.neighbors)

    def graph(self, library):
        arrays = self.sets.indptr, self.sets.labels, self.neighbors
        return DeviceSupportGraph(*map(library.to_device, arrays))


@pytest.fixture(params=[1000, 5])
def blocks(request, monkeypatch):
    """All rows in one block, or several blocks."""
    monkeypatch.setattr(device_graph, "_MAX_BLOCK_ROWS", request.param)


def test_the_roughness_by_definition(library, blocks):
    problem = Problem()
    W = np.zeros((23, 23))
    np.put_along_axis(W, problem.neighbors, problem.weights, axis=1)
    P = problem.sets.scatter(problem.p)
    expected = problem.sets.gather((np.eye(23) - W).T @ (np.eye(23) - W) @ P)
    found = problem.graph(library).roughness(
        library.to_device(problem.weights)
    ) @ library.to_device(problem.p)
    np.testing.assert_allclose(library.to_host(found), expected, atol=1e-14)


def test_the_gram_matrices_are_those_of_the_processor(library, blocks):
    problem = Problem()
    graph, p = problem.graph(library), library.to_device(problem.p)
    found = [library.to_host(graph.difference_grams(p, block)) for block in graph.blocks]
    expected = [problem.host.difference_grams(problem.p, block) for block in problem.host.blocks]
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected), atol=1e-14)


def test_the_blocks_cover_the_rows_in_order(library, blocks):
    rows = [block.rows for block in Problem().graph(library).blocks]
    assert np.concatenate([np.arange(23)[each] for each in rows]).tolist() == list(range(23))


def test_a_graph_on_the_support(library):
    problem = Problem()
    graph = sparse.random_array((23, 23), density=0.2, rng=np.random.default_rng(1)).tocsr()
    rows = np.repeat(np.arange(23), np.diff(graph.indptr))
    edges = rows, graph.indices.astype(np.int64), graph.data
    on_device = DeviceGraph(*map(library.to_device, edges), 23)
    pairs = map(library.to_device, (problem.sets.indptr, problem.sets.labels))
    found = restricted_matrix(on_device, *pairs) @ library.to_device(problem.p)
    expected = restrict_to_support(graph, problem.sets.indptr, problem.sets.labels) @ problem.p
    np.testing.assert_allclose(library.to_host(found), expected, atol=1e-14)


NEIGHBORS = np.array([[1, 2], [0, 2], [1, 0]])
WEIGHTS = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])


def test_becomes_the_matrix_of_the_processor(library):
    graph = graph_of_neighbors(library.to_device(NEIGHBORS), library.to_device(WEIGHTS))
    assert isinstance(graph, DeviceGraph)
    assert library.holds(graph.weights)
    expected = weights_to_csr(NEIGHBORS, WEIGHTS)
    np.testing.assert_array_equal(graph.to_csr().toarray(), expected.toarray())
    assert graph.to_csr().nnz == 5  # no zero is stored


def test_equal_edges_add_up(library):
    rows = library.to_device(np.array([0, 0, 1]))
    graph = DeviceGraph(
        rows, library.to_device(np.array([1, 1, 0])), library.to_device(np.ones(3)), 2
    )
    assert graph.to_csr().toarray().tolist() == [[0, 2], [1, 0]]
