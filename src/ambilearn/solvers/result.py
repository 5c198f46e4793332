"""Result of an iterative solver, and the error of a factorization."""

from typing import Generic, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")


class Solution(NamedTuple, Generic[T]):
    """Result of an iterative solver.

    Parameters
    ----------
    value : T
        The minimizer.
    is_optimal : bool
        Whether the optimality conditions hold to the solver's tolerance; if not, the solver stopped
        at its step limit.
    steps : int
        Number of steps.
    residual : float
        Largest violation of the optimality conditions at ``value``.
    """

    value: T
    is_optimal: bool
    steps: int
    residual: float


def not_positive_definite(ridge: float, minor: int) -> np.linalg.LinAlgError:
    """The error for a kernel matrix whose leading minor of this order is not positive."""
    return np.linalg.LinAlgError(
        f"The kernel matrix plus {ridge:g} on its diagonal is not positive definite (leading "
        f"minor {minor}): the kernel is not positive semi-definite, or the ridge weight `reg` is "
        "too small for the scale of the features. Raise `reg`, scale the features, or use another "
        "kernel."
    )
