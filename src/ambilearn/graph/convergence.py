"""A warning where a solver stopped before the optimum."""

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.warnings import warn_user
from ambilearn.solvers import Solution


def warn_inexact(solution: Solution[Any], problem: str) -> None:
    """Warn that a solution is not optimal.

    Parameters
    ----------
    solution : Solution
        What a solver returned.
    problem : str
        What it was to find, for the message.
    """
    warn_user(
        f"The {problem} are not exact: {solution.status.value} (residual "
        f"{solution.residual:.1e} after {solution.steps} steps). Scale the features, or "
        "lower the weight of the graph.",
        ConvergenceWarning,
    )
