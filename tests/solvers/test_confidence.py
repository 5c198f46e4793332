import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import confidence_step
from literal_methods import laplacian_step
from optimality import assert_no_better_confidences, assert_on_candidate_simplices
from problems import random_mask, support

from ambilearn.backend import choose_backend
from ambilearn.solvers import CandidateSimplex, SupportGraph, solve_confidences


class Problem:
    """Random rows, candidates and graph; ``W`` is the dense graph."""

    def __init__(self, seed, n=15, n_labels=5, k=4, extra=0.4):
        rng = np.random.default_rng(seed)
        self.Y = random_mask(rng, n, n_labels, extra)
        self.sets = support(self.Y)
        self.neighbor_indices = np.array(
            [rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)]
        )
        self.weights = rng.dirichlet(np.ones(k), size=n)
        self.W = np.zeros((n, n))
        self.W[np.arange(n)[:, None], self.neighbor_indices] = self.weights
        self.O = rng.normal(0.3, 0.5, size=self.Y.shape)
        self.simplex = CandidateSimplex(self.sets.indptr)
        pattern = SupportGraph(self.sets.indptr, self.sets.labels, self.neighbor_indices)
        self.roughness = pattern.roughness(self.weights)

    def solve(self, c, **options):
        return solve_confidences(
            self.simplex, self.roughness, self.sets.gather(self.O), c, self.sets.uniform(),
            **options,
        )  # fmt: skip


@pytest.mark.parametrize("c", [0.01, 0.667, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_interior_point(seed, c):
    problem = Problem(seed)
    solution = problem.solve(c)
    expected = confidence_step(problem.O, problem.W.T, problem.Y, 2 / c)
    assert solution.is_optimal
    np.testing.assert_allclose(problem.sets.scatter(solution.value), expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_targets_agree_with_interior_point(seed):
    problem = Problem(seed)
    v = np.random.default_rng(seed).uniform(0.01, 5.0, len(problem.Y))
    solution = problem.solve(0.7, anchor=v[problem.sets.rows])
    expected = confidence_step(problem.O, problem.W.T, problem.Y, 2 * v / 0.7)
    assert solution.is_optimal
    np.testing.assert_allclose(problem.sets.scatter(solution.value), expected, atol=1e-6)
    plain, ones = problem.solve(0.7), problem.solve(0.7, anchor=np.ones_like(solution.value))
    np.testing.assert_array_equal(ones.value, plain.value)


def test_reduced_oracle_equals_the_papers_n_times_l_variables():
    problem = Problem(7)
    arguments = (problem.O, problem.W.T, problem.Y, 3.0)
    np.testing.assert_allclose(
        confidence_step(*arguments), confidence_step(*arguments, reduce=False), atol=1e-7
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_cost_without_a_target_agrees_with_interior_point(seed):
    problem = Problem(seed)
    cost, I_W = np.random.default_rng(seed).random(problem.Y.shape), np.eye(15) - problem.W
    start, costs = problem.sets.uniform(), problem.sets.gather(cost)
    solution = solve_confidences(problem.simplex, problem.roughness, None, 2.0, start, cost=costs)
    expected = laplacian_step(2 * I_W.T @ I_W, problem.Y, 0.0, cost)
    assert solution.is_optimal
    np.testing.assert_allclose(problem.sets.scatter(solution.value), expected, atol=1e-5)


@given(st.integers(0, 10**6), st.floats(0.001, 4), st.floats(0, 1))
def test_feasible_and_optimal(seed, c, extra):
    problem = Problem(seed, extra=extra)
    cost = np.random.default_rng(seed).random(problem.Y.shape)
    P = problem.sets.scatter(problem.solve(c, cost=problem.sets.gather(cost)).value)
    assert_on_candidate_simplices(P, problem.Y)
    I_W = np.eye(len(P)) - problem.W
    gradient = (P - problem.O) + c * I_W.T @ (I_W @ P) + cost / 2
    assert_no_better_confidences(gradient, P, problem.Y, positive=1e-9, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_without_target_reaches_the_smallest_roughness(seed):
    problem = Problem(seed, n=20)
    start = problem.sets.uniform()
    solution = solve_confidences(problem.simplex, problem.roughness, None, 1.0, start)
    P = problem.sets.scatter(solution.value)
    best = confidence_step(np.zeros_like(P), problem.W.T, problem.Y, 0.0)
    roughness = [np.sum((A - problem.W @ A) ** 2) for A in (P, best)]
    assert roughness[0] == pytest.approx(roughness[1], abs=1e-7)


def test_step_limit_is_reported_and_the_result_feasible():
    problem = Problem(1)
    solution = problem.solve(4.0, max_steps=2)
    assert not solution.is_optimal
    assert solution.steps == 2
    assert solution.residual > 1e-9
    np.testing.assert_allclose(problem.sets.scatter(solution.value).sum(axis=1), 1)


def test_overflow_raises_an_error():
    problem = Problem(1)
    problem.O[0, 0] = np.nan
    problem.sets = support(np.ones_like(problem.Y))
    problem.simplex = CandidateSimplex(problem.sets.indptr)
    pattern = SupportGraph(problem.sets.indptr, problem.sets.labels, problem.neighbor_indices)
    problem.roughness = pattern.roughness(problem.weights)
    with pytest.raises(FloatingPointError, match="confidences are not finite"):
        problem.solve(1.0)


def dense(problem):
    unit = np.eye(problem.sets.indptr[-1])
    return np.column_stack([problem.roughness @ column for column in unit])


def test_runs_in_another_array_namespace():
    problem = Problem(2)
    there = solve_confidences(
        choose_backend(strict.zeros(1)).support(problem.sets.sets).simplex,
        strict.asarray(dense(problem)),
        strict.asarray(problem.sets.gather(problem.O)),
        1.0,
        strict.asarray(problem.sets.uniform()),
    )
    np.testing.assert_allclose(np.asarray(there.value), problem.solve(1.0).value, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_a_multiple_of_the_objective_has_the_same_solution_after_the_same_steps(factor):
    problem = Problem(3)
    v = 10.0 ** np.random.default_rng(3).uniform(-12, 2, len(problem.Y))[problem.sets.rows]
    cost = np.random.default_rng(4).normal(size=len(v))
    plain = problem.solve(0.7, anchor=v, cost=cost)
    scaled = problem.solve(factor * 0.7, anchor=factor * v, cost=factor * cost)
    assert plain.is_optimal
    assert scaled.is_optimal
    assert scaled.steps == plain.steps
    np.testing.assert_allclose(scaled.value, plain.value, atol=1e-8)


def test_rows_of_tiny_weight_without_a_graph_get_their_own_targets():
    problem = Problem(3)
    v = np.where(np.arange(len(problem.Y)) % 2, 1.0, 1e-12)[problem.sets.rows]
    solution = problem.solve(0.0, anchor=v)
    expected = problem.simplex.project(problem.sets.gather(problem.O))
    np.testing.assert_allclose(solution.value, expected, atol=1e-12)
