import numpy as np
import pytest
from literal_methods import laplacian_step, similarity_graph
from problems import ambiguous, support
from scipy import sparse

from ambilearn.graph.similarity import SimilarityGraph
from ambilearn.rows import TrainingRows


def graph_of(X, sets, k, form="features"):
    return SimilarityGraph(TrainingRows(X).neighbors(k, form=form), sets)


@pytest.fixture
def problem():
    X, Y, _ = ambiguous(n=30)
    return X, Y, support(Y)


@pytest.mark.parametrize("k", [1, 5, 29])
def test_graph_by_loops(problem, k):
    X, _, sets = problem
    graph = graph_of(X, sets, k)
    expected, sigma = similarity_graph(X, k)
    assert graph.sigma == pytest.approx(sigma)
    np.testing.assert_allclose(graph.similarities.toarray(), expected, atol=1e-12)


def test_graph_is_symmetric_sparse_and_bounded(problem):
    X, _, sets = problem
    S = graph_of(X, sets, 4).similarities
    assert S.format == "csr"
    assert S.nnz <= 2 * 4 * 30
    assert (S.diagonal() == 0).all()
    assert np.abs(S - S.T).max() < 1e-15
    values = np.linalg.eigvalsh(S.toarray())
    assert values.max() == pytest.approx(1)  # so that the Laplacian is positive semi-definite
    assert values.min() >= -1 - 1e-12


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X @ X.T])
def test_sparse_rows_and_linear_kernel_give_the_same_graph(problem, form):
    X, _, sets = problem
    X[np.abs(X) < 0.2] = 0
    dense = graph_of(X, sets, 5)
    other = graph_of(form(X), sets, 5, "features" if form is sparse.csr_array else "kernel")
    assert other.sigma == pytest.approx(dense.sigma)
    assert np.abs(other.similarities - dense.similarities).max() < 1e-9


@pytest.mark.parametrize("weight", [0.005, 1.0, 3.0])
def test_smoothing_towards_a_target(problem, weight):
    X, Y, sets = problem
    graph = graph_of(X, sets, 5)
    L = np.eye(30) - similarity_graph(X, 5)[0]
    wanted = np.random.default_rng(1).random(Y.shape)
    p = graph.smooth(sets.uniform(), sets.gather(wanted), weight)
    P = sets.scatter(p)
    np.testing.assert_allclose(P, laplacian_step(weight * L, Y, 1.0, -2 * wanted), atol=1e-6)
    assert graph.roughness(p) == pytest.approx(np.trace(P.T @ L @ P))


def test_identical_rows(problem):
    _, _, sets = problem
    graph = graph_of(np.ones((30, 3)), sets, 5)
    assert graph.sigma == 1.0
    assert np.isfinite(graph.similarities.data).all()
    assert graph.similarities.nnz > 0


def test_distant_row_has_no_similarities(problem):
    """Its similarities underflow to zero; nothing is divided by its degree of zero."""
    X, _, sets = problem
    X[0] += 1e4
    graph = graph_of(X, sets, 1)
    S = graph.similarities.toarray()
    assert (S[0] == 0).all()
    assert np.isfinite(S).all()
    p = graph.smooth(sets.uniform(), sets.uniform(), 1.0)
    np.testing.assert_allclose(sets.scatter(p)[0], sets.scatter(sets.uniform())[0], atol=1e-9)


def test_constant_cost_in_a_row_has_no_effect(problem):
    X, _, sets = problem
    graph = graph_of(X, sets, 5)
    rng = np.random.default_rng(3)
    cost = rng.integers(0, 4, size=len(sets.labels)) / 4.0
    p = graph.smooth(sets.uniform(), None, 2.0, cost=cost)
    alike = rng.integers(0, 2**40, size=sets.n_rows)[sets.rows]  # of which quarters are not lost
    np.testing.assert_allclose(
        graph.smooth(sets.uniform(), None, 2.0, cost=cost + alike), p, atol=1e-9
    )


@pytest.mark.parametrize("size", [1e16, 1e40, 1e140])
def test_huge_costs_cause_no_rounding_errors(problem, size):
    X, _, sets = problem
    graph = graph_of(X, sets, 5)
    cost = size * (1 + np.random.default_rng(4).random(len(sets.labels)))
    p = graph.smooth(sets.uniform(), None, 2.0, cost=cost)
    cheapest = sets.best_pairs(-cost)
    np.testing.assert_allclose(p[cheapest], 1)
    assert p.sum() == pytest.approx(sets.n_rows)
