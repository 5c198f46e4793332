import numpy as np

from ambilearn.graph.edges_on_device import DeviceGraph
from ambilearn.graph.geometry import weights_to_csr, weights_to_graph

NEIGHBORS = np.array([[1, 2], [0, 2], [1, 0]])
WEIGHTS = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])


def test_becomes_the_matrix_of_the_processor(there):
    graph = weights_to_graph(there.move(NEIGHBORS), there.move(WEIGHTS))
    assert isinstance(graph, DeviceGraph)
    assert there.holds(graph.weights)
    expected = weights_to_csr(NEIGHBORS, WEIGHTS)
    np.testing.assert_array_equal(graph.to_csr().toarray(), expected.toarray())
    assert graph.to_csr().nnz == 5  # no zero is stored


def test_on_the_processor_it_is_the_matrix_itself():
    np.testing.assert_array_equal(
        weights_to_graph(NEIGHBORS, WEIGHTS).toarray(), weights_to_csr(NEIGHBORS, WEIGHTS).toarray()
    )


def test_equal_edges_add_up(there):
    rows = there.move(np.array([0, 0, 1]))
    graph = DeviceGraph(rows, there.move(np.array([1, 1, 0])), there.move(np.ones(3)), 2)
    assert graph.to_csr().toarray().tolist() == [[0, 2], [1, 0]]
