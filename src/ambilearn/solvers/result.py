"""What every solver returns."""

from enum import Enum
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Status(Enum):
    """How a solver ended; the value is a sentence that says what to try next."""

    OPTIMAL = "solved to the requested tolerance"
    STEP_LIMIT = "stopped at the step limit: allow more steps or a larger tolerance"


class Solution(NamedTuple, Generic[T]):
    """A solver's answer.

    Parameters
    ----------
    value : T
        The minimizer.
    status : Status
        Whether the optimality conditions hold to the solver's tolerance.
    steps : int
        Steps taken (1 for a direct solver).
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
