import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import solve_qp

from ambilearn.solvers import solve_neighbor_weights
from ambilearn.solvers.neighbor_weights import minimize_over_weights, with_ridge


def grams(seed, n=20, k=6, d=10):
    """Gram matrices of differences, as they come from n rows with k neighbors in d dimensions."""
    differences = np.random.default_rng(seed).normal(size=(n, k, d)) + 0.7
    return differences @ differences.transpose(0, 2, 1)


def oracle(B):
    k = len(B)
    scale = np.trace(B) / k
    return solve_qp(B / scale + 1e-10 * np.eye(k), np.zeros(k), np.ones((1, k)), np.ones(k))


@pytest.mark.parametrize(("k", "d"), [(1, 3), (2, 1), (6, 10), (10, 100)])
def test_agrees_with_interior_point(k, d):
    B = grams(k, k=k, d=d)
    solution = solve_neighbor_weights(B)
    assert solution.is_optimal
    np.testing.assert_allclose(solution.value, [oracle(b) for b in B], atol=2e-6)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 15))
def test_feasible_and_optimal(seed, k, d):
    """KKT: the slope Bw is w'Bw where w > 0 and at least that elsewhere."""
    B = grams(seed, n=8, k=k, d=d)
    solution = solve_neighbor_weights(B)
    w = solution.value
    assert (w >= 0).all()
    np.testing.assert_allclose(w.sum(axis=1), 1, atol=1e-13)
    slope = (B @ w[:, :, None])[:, :, 0]
    level = (slope * w).sum(axis=1, keepdims=True)
    tolerance = 1e-8 * np.trace(B, axis1=1, axis2=2)[:, None]
    assert (slope >= level - tolerance).all()
    assert (np.abs(slope - level)[w > 1e-6] <= np.broadcast_to(tolerance, w.shape)[w > 1e-6]).all()
    assert solution.residual <= 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_any_start_leads_to_the_same_weights(seed):
    B = grams(seed, n=50)
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(6), size=50) * (rng.random((50, 6)) < 0.5)
    start[start.sum(axis=1) == 0, 0] = 1
    start /= start.sum(axis=1, keepdims=True)
    cold = solve_neighbor_weights(B)
    warm = solve_neighbor_weights(B, start)
    np.testing.assert_allclose(warm.value, cold.value, atol=1e-9)
    again = solve_neighbor_weights(B, cold.value)
    assert again.steps == 1


def test_duplicate_neighbors_share_the_weight():
    differences = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [-2.0, 1.0]])
    w = solve_neighbor_weights((differences @ differences.T)[None]).value[0]
    np.testing.assert_allclose(w[:3], w[0], atol=1e-5)
    assert w[3] == pytest.approx(0.3, abs=1e-6)  # minimizer of (1 - 3t)² + t²


def test_more_neighbors_than_dimensions_gives_the_smallest_weights():
    """Five neighbors on a line around the row: many perfect rebuilds, one of smallest norm."""
    x = np.array([-2.0, -1.0, 1.0, 2.0, 3.0])
    w = solve_neighbor_weights(np.outer(x, x)[None]).value[0]
    assert w @ x == pytest.approx(0, abs=1e-6)
    expected = solve_qp(np.eye(5), np.zeros(5), np.array([x + 1, np.ones(5)]), np.ones(5))
    np.testing.assert_allclose(w, expected, atol=1e-5)


def test_rows_that_coincide_with_all_neighbors_get_equal_weights():
    np.testing.assert_allclose(solve_neighbor_weights(np.zeros((3, 4, 4))).value, 0.25)


def test_step_limit_is_reported_and_the_result_feasible():
    solution = solve_neighbor_weights(grams(0, k=10, d=30), max_steps=2)
    assert not solution.is_optimal
    assert solution.steps == 2
    assert solution.residual > 1e-6
    assert (solution.value >= 0).all()
    np.testing.assert_allclose(solution.value.sum(axis=1), 1)


def test_runs_in_another_array_namespace():
    B = grams(1)
    there = solve_neighbor_weights(strict.asarray(B))
    np.testing.assert_allclose(np.asarray(there.value), solve_neighbor_weights(B).value, atol=1e-12)


def matrices(seed, n=15, k=7):
    A = np.random.default_rng(seed).normal(0.3, 1, size=(n, k, 2 * k))
    return with_ridge(np, A @ A.transpose(0, 2, 1), 1e-10)[0]


def run(B, linear, start, **options):
    return minimize_over_weights(B, linear, start, **{"max_steps": 1000} | options)


@pytest.mark.parametrize("sum_to_one", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_start_gives_the_same_weights_in_fewer_steps(seed, sum_to_one):
    B = matrices(seed, n=200, k=10)
    n, k = B.shape[:2]
    c = np.ones((n, k)) if sum_to_one else np.random.default_rng(seed).normal(size=(n, k))
    start = np.eye(k)[np.zeros(n, dtype=int)] if sum_to_one else np.zeros((n, k))
    slow, _, rounds = run(B, c, start, sum_to_one=sum_to_one)
    fast, is_optimal, fewer = run(B, c, None, sum_to_one=sum_to_one)
    assert is_optimal
    assert fewer < rounds
    np.testing.assert_allclose(fast, slow, atol=1e-11)


@pytest.mark.parametrize("sum_to_one", [True, False])
def test_rows_do_not_influence_each_other(sum_to_one):
    B = matrices(0)
    n, k = B.shape[:2]
    c = np.ones((n, k)) if sum_to_one else np.random.default_rng(0).normal(size=(n, k))
    start = np.full((n, k), 1 / k)
    together, _, steps = run(B, c, start, sum_to_one=sum_to_one)
    alone = [run(B[[i]], c[[i]], start[[i]], sum_to_one=sum_to_one)[::2] for i in range(n)]
    np.testing.assert_allclose(together, np.concatenate([w for w, _ in alone]), atol=1e-12)
    assert steps == max(s for _, s in alone)


def test_ridge_is_relative_to_the_mean_diagonal():
    gram = np.array([np.diag([2.0, 6.0]), np.zeros((2, 2))])
    scaled, scale = with_ridge(np, gram, 0.1)
    np.testing.assert_allclose(scaled, [np.diag([0.6, 1.6]), np.diag([0.1, 0.1])])
    np.testing.assert_allclose(scale.ravel(), [4, 1])
