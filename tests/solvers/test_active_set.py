import numpy as np
import pytest
from literal import solve_qp

from ambilearn.solvers import Status
from ambilearn.solvers.active_set import minimize_over_weights, with_ridge


def matrices(seed, n=15, k=7):
    A = np.random.default_rng(seed).normal(0.3, 1, size=(n, k, 2 * k))
    return with_ridge(np, A @ A.transpose(0, 2, 1), 1e-10)[0]


def run(B, linear, start, **options):
    return minimize_over_weights(B, linear, start, **{"max_steps": 1000} | options)


@pytest.mark.parametrize("seed", range(3))
def test_with_and_without_the_sum(seed):
    """The same loop, two feasible sets, each against an interior-point solver."""
    B = matrices(seed)
    n, k = B.shape[:2]
    corner = np.eye(k)[np.zeros(n, dtype=int)]
    weights, status, _ = run(B, np.ones((n, k)), corner, sum_to_one=True)
    assert status is Status.OPTIMAL
    rows, bound = np.ones((1, k)), np.ones(k)
    expected = [solve_qp(b, np.zeros(k), rows, bound) for b in B]
    np.testing.assert_allclose(weights / weights.sum(axis=1, keepdims=True), expected, atol=1e-6)

    c = np.random.default_rng(seed).normal(0.3, 1, size=(n, k))
    weights, status, _ = run(B, c, np.zeros((n, k)), sum_to_one=False)
    assert status is Status.OPTIMAL
    nothing, far = np.zeros((0, k)), np.full(k, 1e3)
    expected = [solve_qp(2 * b, -2 * v, nothing, far) for b, v in zip(B, c, strict=True)]
    np.testing.assert_allclose(weights, expected, atol=1e-5)


@pytest.mark.parametrize("sum_to_one", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_start_gives_the_same_weights_in_fewer_steps(seed, sum_to_one):
    B = matrices(seed, n=200, k=10)
    n, k = B.shape[:2]
    c = np.ones((n, k)) if sum_to_one else np.random.default_rng(seed).normal(size=(n, k))
    start = np.eye(k)[np.zeros(n, dtype=int)] if sum_to_one else np.zeros((n, k))
    slow, _, rounds = run(B, c, start, sum_to_one=sum_to_one)
    fast, status, fewer = run(B, c, None, sum_to_one=sum_to_one)
    assert status is Status.OPTIMAL
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


def test_optimal_start_needs_one_step():
    B = matrices(1)
    n, k = B.shape[:2]
    c = np.random.default_rng(1).normal(size=(n, k))
    solution, _, _ = run(B, c, np.zeros((n, k)), sum_to_one=False)
    again, _, steps = run(B, c, solution, sum_to_one=False)
    assert steps == 1
    np.testing.assert_allclose(again, solution, atol=1e-12)


def test_ridge_is_relative_to_the_mean_diagonal():
    gram = np.array([np.diag([2.0, 6.0]), np.zeros((2, 2))])
    scaled, scale = with_ridge(np, gram, 0.1)
    np.testing.assert_allclose(scaled, [np.diag([0.6, 1.6]), np.diag([0.1, 0.1])])
    np.testing.assert_allclose(scale.ravel(), [4, 1])
