import pytest
from sklearn.exceptions import ConvergenceWarning

from ambilearn.graph.convergence import warn_inexact
from ambilearn.solvers import Solution, Status


def test_the_warning_says_how_far_it_came_and_what_to_try():
    solution = Solution("near", Status.STEP_LIMIT, 7, 0.002)
    assert not solution.is_optimal
    with pytest.warns(ConvergenceWarning, match=r"weights are not exact.*2.0e-03 after 7 steps"):
        warn_inexact(solution, "weights")


def test_an_optimal_solution_says_so():
    assert Solution("best", Status.OPTIMAL, 3, 0.0).is_optimal
