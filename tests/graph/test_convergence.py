import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from ambilearn.graph.convergence import value_or_warn
from ambilearn.solvers import Solution, Status


def test_an_exact_solution_is_its_value_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value_or_warn(Solution("best", Status.OPTIMAL, 3, 0.0), "weights") == "best"


def test_a_solution_that_is_not_exact_comes_with_a_warning():
    solution = Solution("near", Status.STEP_LIMIT, 7, 0.002)
    with pytest.warns(ConvergenceWarning, match=r"weights are not exact.*2.0e-03 after 7 steps"):
        assert value_or_warn(solution, "weights") == "near"
