"""A warning where a solver stopped before the optimum."""

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.warnings import warn_user
from ambilearn.solvers import Solution, Status


def value_or_warn(solution: Solution, problem: str) -> Any:
    """The value of a solution, with a warning where the solver stopped before the optimum.

    Parameters
    ----------
    solution : Solution
        What a solver returned.
    problem : str
        What it was to find, for the message.

    Returns
    -------
    value : Any
        ``solution.value``.
    """
    if solution.status is not Status.OPTIMAL:
        warn_user(
            f"The {problem} are not exact: {solution.status.value} (residual "
            f"{solution.residual:.1e} after {solution.steps} steps). Scale the features, or "
            "lower the weight of the graph.",
            ConvergenceWarning,
        )
    return solution.value
