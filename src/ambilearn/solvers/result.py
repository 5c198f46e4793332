"""Result of a solver."""

from enum import Enum
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Status(Enum):
    """How a solver ended; the value is a message for the user."""

    OPTIMAL = "converged to the requested tolerance"
    STEP_LIMIT = "stopped at the step limit"


class Solution(NamedTuple, Generic[T]):
    """Result of a solver.

    Parameters
    ----------
    value : T
        The minimizer.
    status : Status
        Whether the optimality conditions hold to the solver's tolerance.
    steps : int
        Number of steps (1 for a direct solver).
    residual : float
        Largest violation of the optimality conditions at ``value``.
    """

    value: T
    status: Status
    steps: int
    residual: float

    @property
    def is_optimal(self) -> bool:
        """Whether the optimality conditions hold to the solver's tolerance."""
        return self.status is Status.OPTIMAL
