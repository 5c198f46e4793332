"""The outer loop of the methods: convergence, and listeners of its iterations."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral, Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.warnings import warn_user


class Round(NamedTuple):
    """A completed iteration.

    Attributes
    ----------
    name : str
        Class of the estimator.
    number : int
        Number of completed iterations.
    limit : int
        Maximum number of iterations.
    change : float
        Change of the confidences.
    tol : float
        Change at which iteration stops.
    text : str, default=""
        Description of the state of the fit, with the time that is left.
    """

    name: str
    number: int
    limit: int
    change: float
    tol: float
    text: str = ""


_listener: ContextVar[Callable[[Round], None] | None] = ContextVar("listener", default=None)


def report_round(done: Round) -> None:
    """Call the listener of this thread, if there is one, at the end of an iteration."""
    listener = _listener.get()
    if listener is not None:
        listener(done)


def is_listening() -> bool:
    """Whether rounds of this thread are listened to."""
    return _listener.get() is not None


@contextmanager
def listen_to_rounds(listener: Callable[[Round], None]) -> Iterator[None]:
    """Context in which ``listener`` is called at the end of each iteration of any fit."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


# Constraints of the parameters that the loop uses.
LOOP_CONSTRAINTS: dict[str, list[Any]] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
}


class OuterLoop:
    r"""Iterate until the confidences converge, and store the objective of every iteration.

    The change of an iteration is the root mean square over the rows,
    :math:`\|P_t - P_{t-1}\|_F / \sqrt n`; the loop ends when it is at most ``tol``.

    ``estimator`` has the parameters ``max_iter``, ``tol`` and ``verbose``. ``n_iter`` is the number
    of completed iterations, and ``objective`` has the objective after each of them.
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self._name = type(estimator).__name__
        self._max_iter = estimator.max_iter
        self._tol = estimator.tol
        self._verbose = estimator.verbose
        self._change = np.inf
        self._began = perf_counter()
        self.n_iter = 0
        self.objective: list[float] = []

    @property
    def history(self) -> NDArray[np.float64]:
        """Objective after each iteration."""
        return np.array(self.objective)

    def should_continue(self) -> bool:
        """Whether to run another iteration; warns if the limit is reached before convergence."""
        if self._change <= self._tol:
            return False
        if self.n_iter < self._max_iter:
            return True
        remedy = "Raise max_iter or tol, or scale the features"
        warn_unless_converged(self._name, self._change, self._tol, self._max_iter, remedy)
        return False

    def record(
        self,
        p: NDArray[np.float64],
        previous: NDArray[np.float64],
        n_rows: int,
        objective: float | None = None,
    ) -> None:
        """Record an iteration that changed the confidences from ``previous`` to ``p``.

        Methods without an objective, such as label propagation, pass None.
        """
        xp = array_namespace(p)
        self.record_change(float(xp.linalg.vector_norm(p - previous)) / n_rows**0.5, objective)

    def record_change(self, change: float, objective: float | None = None) -> None:
        """Record an iteration by its change, without the confidences."""
        self.n_iter += 1
        self._change = change
        report_round(Round(self._name, self.n_iter, self._max_iter, change, self._tol))
        reached = ""
        if objective is not None:
            self.objective.append(objective)
            reached = f"objective {objective:.6e}   "
        if self._verbose:
            print(
                f"[{self._name}] iteration {self.n_iter:3d}   {reached}"
                f"change {self._change:.2e}   {perf_counter() - self._began:.2f} s",
                flush=True,
            )


def warn_unless_converged(
    name: str, change: float, tol: float, max_iter: int, remedy: str = "Raise max_iter or tol"
) -> None:
    """Warn if the last change is above ``tol``, unless ``tol`` is zero."""
    if tol > 0 and not change <= tol:  # also if the change is NaN
        warn_user(
            f"{name} stopped after max_iter={max_iter} iterations with the label confidences still "
            f"changing by {change:.1e} (tol={tol:.1e}). {remedy}; tol=0 runs exactly max_iter "
            "iterations without a warning.",
            ConvergenceWarning,
        )
