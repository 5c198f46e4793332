"""The confidence problem with a Laplacian and a linear cost, as LALO and PLDA pose it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal_methods import laplacian_step
from optimality import assert_no_better_confidences, assert_on_candidate_simplices
from problems import random_mask, support
from scipy import sparse

from ambilearn.solvers import CandidateSimplex, solve_confidences
from ambilearn.solvers.support_graph import restrict_to_support


class Problem:
    """Random candidates, a random symmetric graph with its Laplacian, a target and costs."""

    def __init__(self, seed, n=15, n_labels=5, extra=0.4):
        rng = np.random.default_rng(seed)
        self.Y = random_mask(rng, n, n_labels, extra)
        self.sets = support(self.Y)
        S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
        S = S + S.T + 1e-3 * (1 - np.eye(n))
        root = 1 / np.sqrt(S.sum(axis=1))
        self.graph = root[:, None] * S * root
        self.L = np.eye(n) - self.graph
        self.O = rng.normal(0.3, 0.5, size=self.Y.shape)
        self.D = rng.random(self.Y.shape)
        self.simplex = CandidateSimplex(self.sets.indptr)
        self.operator = restrict_to_support(
            sparse.csr_array(self.L), self.sets.indptr, self.sets.labels
        )

    def solve(self, c, **options):
        return solve_confidences(
            self.simplex, self.operator, self.sets.gather(self.O), c, self.sets.uniform(),
            **options,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_interior_point_with_a_cost_and_without_a_target(seed):
    problem = Problem(seed)
    start, cost = problem.sets.uniform(), problem.sets.gather(problem.D)
    solution = solve_confidences(problem.simplex, problem.operator, None, 2.0, start, cost=cost)
    expected = laplacian_step(2 * problem.L, problem.Y, 0.0, problem.D)
    assert solution.is_optimal
    np.testing.assert_allclose(problem.sets.scatter(solution.value), expected, atol=1e-5)


@given(st.integers(0, 10**6), st.floats(0.001, 4), st.floats(0, 1))
def test_feasible_and_optimal(seed, c, extra):
    problem = Problem(seed, extra=extra)
    P = problem.sets.scatter(problem.solve(c, cost=problem.sets.gather(problem.D)).value)
    assert_on_candidate_simplices(P, problem.Y)
    gradient = (P - problem.O) + c * problem.L @ P + problem.D / 2
    assert_no_better_confidences(gradient, P, problem.Y, positive=1e-9, atol=1e-7)
