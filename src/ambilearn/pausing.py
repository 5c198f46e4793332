"""Fits that pause at their regressions, so that several fits can have theirs solved together.

The kernel methods are generators: where one needs a regression it yields it, and is sent the
answer. Alone a fit gets its answers at once, from :func:`run_alone`. Many fits on the same rows,
such as the points of a grid, wait for each other (:class:`ambilearn.sharing.SharedFits`): what they
ask of the same factored kernel matrix is one substitution with many columns, which takes a fraction
of the time.
"""

from collections import defaultdict
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn.kernel.regression import DualRegressor, SupportFit


class Regression(NamedTuple):
    """A regression that a fit waits for.

    Parameters
    ----------
    regressor : DualRegressor, PrimalRegressor or ManyLabelRegressor
        What can solve it.
    values : ndarray of shape (n_pairs,)
        Targets on the support.
    fill : float or ndarray of shape (n,), default=0.0
        Targets off it, one number for each row.
    """

    regressor: Any
    values: NDArray[np.float64]
    fill: Any = 0.0

    def solve(self) -> SupportFit:
        """The answer."""
        return self.regressor.solve(self.values, self.fill)


PausingFit = Generator[Regression, SupportFit, None]


def run_alone(fit: PausingFit) -> None:
    """Run a fit to its end, and solve its regressions as they come.

    Parameters
    ----------
    fit : generator of Regression
        The fit.
    """
    try:
        regression = next(fit)
        while True:
            regression = fit.send(regression.solve())
    except StopIteration:
        pass


def solve_together(regressions: Sequence[Regression]) -> list[SupportFit]:
    """Solve regressions of several fits, at once where they share a small factored kernel matrix.

    Parameters
    ----------
    regressions : sequence of Regression
        One of each fit.

    Returns
    -------
    list of SupportFit
        What each would be alone, bit for bit.
    """
    fits: list[SupportFit | None] = [None] * len(regressions)
    companions = defaultdict(list)
    for i, each in enumerate(regressions):
        if isinstance(each.regressor, DualRegressor) and each.regressor.is_small:
            companions[id(each.regressor.ridge)].append(i)
        else:
            fits[i] = each.solve()
    for places in companions.values():
        solved = DualRegressor.solve_all([regressions[i] for i in places])
        for i, fit in zip(places, solved, strict=True):
            fits[i] = fit
    return fits
