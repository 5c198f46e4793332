"""Choose the parameters of a method by cross-validation on the candidate sets of a table."""

from collections.abc import Callable
from itertools import count
from typing import Any

from ambilearn._utils.text import TimeLeft
from ambilearn._utils.types import Estimator, Matrix, Params
from ambilearn.candidates import CandidateSets
from ambilearn.metrics import covering_rate_scorer
from ambilearn.selection import CandidateSearchCV, draw_points, include_current

_POINTS = 16  # that are tried
_FOLDS = 5


def tune_parameters(
    estimator: Estimator,
    grid: Params,
    X: Matrix,
    candidates: CandidateSets,
    random_state: int,
    progress: Callable[[str], None],
) -> tuple[dict[str, Any], float]:
    """Parameters with the best covering rate on held-out candidate sets, and this rate.

    The approximated accuracy prefers sharp confidences, and so a weak ridge: on Lost it would
    choose reg = 0.001 (accuracy 0.67) where the covering rate chooses 0.01 (0.70). ``progress`` is
    called with a status message at each fit.
    """
    _check_choice(grid, X.shape[0])
    n_points = min(_POINTS, len(include_current(estimator, draw_points(grid))))
    total = sum(-(-n_points // 2**fold) for fold in range(_FOLDS))
    fits, time_left = count(1), TimeLeft()

    def scoring(fitted: Estimator, rows: Any, held_out: Any) -> float:
        done = next(fits)
        left = time_left.describe(done, total - done)
        progress(f"choosing parameters: fit {done} of {total}{left}")
        return covering_rate_scorer(fitted, rows, held_out)

    search = CandidateSearchCV(
        estimator,
        grid,
        n_points=_POINTS,
        include_current=True,
        scoring=scoring,
        cv=_FOLDS,
        halving=True,
        refit=False,
        random_state=random_state,
    )
    search.fit(X, candidates)
    return search.best_params_, search.best_score_


def _check_choice(grid: Params, n_rows: int) -> None:
    if not grid:
        raise ValueError(
            "There is nothing left to choose: the method has no parameter grid, or all its "
            "parameters are given. Leave out --tune, or give fewer parameters."
        )
    if n_rows < 2 * _FOLDS:
        raise ValueError(
            f"Choosing parameters by cross-validation needs at least {2 * _FOLDS} rows, the table "
            f"has {n_rows}. Leave out --tune."
        )
