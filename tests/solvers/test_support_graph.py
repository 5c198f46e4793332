import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_mask, support

from ambilearn.solvers import SupportGraph, support_graph


class Problem:
    """Random candidates, neighbors and weights, some of them zero; ``W`` is the dense graph."""

    def __init__(self, seed, n=15, n_labels=5, k=4, extra=0.4):
        rng = np.random.default_rng(seed)
        self.sets = support(random_mask(rng, n, n_labels, extra))
        self.neighbor_indices = np.array(
            [rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)]
        )
        self.weights = rng.dirichlet(np.ones(k), size=n) * (rng.random((n, k)) < 0.7)
        self.W = np.zeros((n, n))
        self.W[np.arange(n)[:, None], self.neighbor_indices] = self.weights
        self.p = rng.normal(size=self.sets.indptr[-1])
        self.P = self.sets.scatter(self.p)
        self.graph = SupportGraph(self.sets.indptr, self.sets.labels, self.neighbor_indices)

    def grams(self):
        return np.concatenate(
            [self.graph.difference_grams(self.p, block) for block in self.graph.blocks]
        )


problems = st.builds(
    Problem,
    st.integers(0, 10**6),
    n=st.integers(5, 20),
    n_labels=st.integers(2, 30),
    k=st.integers(1, 4),
    extra=st.floats(0, 1),
)


@given(problems)
def test_roughness_is_that_of_i_minus_w(problem):
    I_W = np.eye(len(problem.P)) - problem.W
    expected = problem.sets.gather(I_W.T @ (I_W @ problem.P))
    roughness = problem.graph.roughness(problem.weights)
    np.testing.assert_allclose(roughness @ problem.p, expected, atol=1e-11)


@given(problems)
def test_grams_equal_those_of_dense_differences(problem):
    differences = problem.P[:, None, :] - problem.P[problem.neighbor_indices]
    expected = differences @ differences.transpose(0, 2, 1)
    np.testing.assert_allclose(problem.grams(), expected, atol=1e-11)


@pytest.mark.parametrize(("rows", "values"), [(4, 10**6), (10**6, 100), (10**6, 1)])
def test_result_does_not_depend_on_blocks(rows, values, monkeypatch):
    """They are limited by their number of rows, or by what is laid out; never less than a row."""
    whole = Problem(0)
    monkeypatch.setattr(support_graph, "_MAX_BLOCK_ROWS", rows)
    monkeypatch.setattr(support_graph, "_MAX_BLOCK_VALUES", values)
    parts = Problem(0)
    assert len(whole.graph.blocks) == 1
    assert len(parts.graph.blocks) > 1
    covered = [i for block in parts.graph.blocks for i in range(block.rows.start, block.rows.stop)]
    assert covered == list(range(15))
    np.testing.assert_allclose(parts.grams(), whole.grams(), atol=1e-12)
    a, b = (problem.graph.roughness(problem.weights) for problem in (whole, parts))
    np.testing.assert_allclose(a.factor.toarray(), b.factor.toarray(), atol=1e-12)
    np.testing.assert_allclose(a.diagonal, b.diagonal, atol=1e-12)


def test_factor_has_only_rows_with_several_entries():
    problem = Problem(3, n_labels=12, extra=0.1)
    roughness = problem.graph.roughness(problem.weights)
    assert (np.diff(roughness.factor.indptr) > 1).all()
    assert (roughness.factor.data != 0).all()
    assert roughness.diagonal.any()
    np.testing.assert_array_equal(roughness.transposed.toarray(), roughness.factor.toarray().T)


def test_pattern_does_not_depend_on_earlier_weights():
    problem = Problem(1)
    first = problem.graph.roughness(problem.weights) @ problem.p
    problem.graph.roughness(np.eye(4)[np.zeros(15, dtype=int)])
    np.testing.assert_array_equal(problem.graph.roughness(problem.weights) @ problem.p, first)


def test_equal_confidences_have_zero_grams():
    """Exactly: rounding must not decide which of two duplicates rebuilds a row."""
    sets = support(np.ones((6, 3), dtype=int))
    neighbor_indices = np.array([[(i + 1) % 6, (i + 2) % 6] for i in range(6)])
    graph = SupportGraph(sets.indptr, sets.labels, neighbor_indices)
    assert not graph.difference_grams(np.tile([0.1, 0.2, 0.7], 6), graph.blocks[0]).any()


def test_memory_grows_with_candidates_not_labels():
    """A row that meets few of a great many labels lays out those few."""
    rng = np.random.default_rng(0)
    labels = [set(rng.integers(10**6, size=2).tolist()) | {0} for _ in range(30)]
    sets = support(labels, classes=np.arange(10**6 + 1))
    neighbor_indices = (np.arange(30)[:, None] + [1, 2, 3]) % 30
    graph = SupportGraph(sets.indptr, sets.labels, neighbor_indices)
    assert graph.blocks[0].n_slots <= 3 * 4
    p = rng.random(sets.indptr[-1])
    gram = graph.difference_grams(p, graph.blocks[0])
    P = sets.sets.to_sparse().astype(float)
    P.data = p
    expected = sum((P[[0]] - P[[1]]).multiply(P[[0]] - P[[3]]).data)
    assert gram[0, 0, 2] == pytest.approx(expected)


def test_example_in_the_module_docstring():
    indptr, labels = np.array([0, 2, 3, 5]), np.array([0, 1, 1, 0, 2])
    graph = SupportGraph(indptr, labels, np.array([[1, 2], [0, 2], [0, 1]]))
    weights = np.array([[0.3, 0.7], [0.6, 0.4], [0.9, 0.1]])
    (w01, w02), (w10, w12), (w20, w21) = weights
    Z = np.array(
        [
            [1, 0, 0, -w02, 0],
            [0, 1, -w01, 0, 0],
            [0, 0, 0, 0, -w02],
            [-w10, 0, 0, -w12, 0],
            [0, -w10, 1, 0, 0],
            [0, 0, 0, 0, -w12],
            [-w20, 0, 0, 1, 0],
            [0, -w20, -w21, 0, 0],
            [0, 0, 0, 0, 1],
        ]
    )
    roughness = graph.roughness(weights)
    np.testing.assert_allclose(roughness @ np.eye(5)[:, 3], (Z.T @ Z)[:, 3])
    found = np.column_stack([roughness @ column for column in np.eye(5)])
    np.testing.assert_allclose(found, Z.T @ Z, atol=1e-15)
    # Rows (0, c), (1, c) and (2, c) have one entry: on the diagonal only.
    np.testing.assert_allclose(roughness.diagonal, [0, 0, 0, 0, w02**2 + w12**2 + 1])
    assert roughness.factor.shape == (6, 5)
    assert graph.blocks[0].unshared == slice(0, 2)
