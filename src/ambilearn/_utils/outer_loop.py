"""The outer loop of the alternating methods: progress, convergence, and a warning without it."""

from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.rounds import Round, report_round
from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.warnings import warn_user

# What the parameters may be that the loop takes from its estimator.
LOOP_CONSTRAINTS: dict[str, list[Any]] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
}


class OuterLoop:
    r"""Runs until the confidences stop moving, and keeps the objective of every iteration.

    The change of an iteration is the root mean square over the rows,
    :math:`\|P_t - P_{t-1}\|_F / \sqrt n`; the loop ends when it is at most ``tol``.

    Parameters
    ----------
    estimator : BaseEstimator
        Gives ``max_iter``, ``tol`` and ``verbose``.

    Attributes
    ----------
    n_iter : int
        Iterations done.
    objective : list of float
        Objective after each iteration.
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
        """Whether another iteration is due; warns when the limit came before convergence."""
        if self._change <= self._tol:
            return False
        if self.n_iter < self._max_iter:
            return True
        if self._tol > 0:
            warn_user(
                f"{self._name} stopped after max_iter={self._max_iter} iterations with the label "
                f"confidences still changing by {self._change:.1e} (tol={self._tol:.1e}). Raise "
                "max_iter or tol, or scale the features; tol=0 asks for exactly max_iter "
                "iterations and never warns.",
                ConvergenceWarning,
            )
        return False

    def record(
        self,
        p: NDArray[np.float64],
        previous: NDArray[np.float64],
        n_rows: int,
        objective: float | None = None,
    ) -> None:
        """Note the end of an iteration that moved the confidences from ``previous`` to ``p``.

        Methods that minimise nothing, such as label propagation, have no objective.
        """
        xp = array_namespace(p)
        self.record_change(float(xp.linalg.vector_norm(p - previous)) / n_rows**0.5, objective)

    def record_change(self, change: float, objective: float | None = None) -> None:
        """Note the end of an iteration whose change is known, wherever the confidences are."""
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
