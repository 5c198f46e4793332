"""Choose the parameters of a method by cross-validation on the candidate sets of a table."""

from collections.abc import Callable
from itertools import count
from typing import Any

from ambilearn._utils.progress import TimeLeft
from ambilearn._utils.types import Estimator, Matrix, Params
from ambilearn.metrics import covering_rate_scorer
from ambilearn.selection import CandidateSearchCV, draw_points, include_current
from ambilearn.tables.read import CandidateTable

_POINTS = 16  # that are tried
_FOLDS = 5


def tune_parameters(
    estimator: Estimator,
    grid: Params,
    X: Matrix,
    table: CandidateTable,
    random_state: int,
    progress: Callable[[str], None],
) -> tuple[dict[str, Any], float | None]:
    """Parameters with the best covering rate on held-out candidate sets, and this rate.

    The approximated accuracy prefers sharp confidences, and so a weak ridge: on Lost it would
    choose reg = 0.001 (accuracy 0.67) where the covering rate chooses 0.01 (0.70). If the table has
    ``two_votes``, these sets are tried, too, and the parameters include ``min_votes``. ``progress``
    is called with a status message at each fit.
    """
    _check_choice(grid, X.shape[0], table)
    choices = {1: table.candidates}
    if table.two_votes is not None:
        choices[2] = table.two_votes
    n_points = min(_POINTS, len(include_current(estimator, draw_points(grid))))
    total = len(choices) * sum(-(-n_points // 2**fold) for fold in range(_FOLDS))
    fits, time_left = count(1), TimeLeft()

    def scoring(fitted: Estimator, rows: Any, held_out: Any) -> float:
        done = next(fits)
        left = time_left.describe(done, total - done)
        progress(f"choosing parameters: fit {done} of {total}{left}")
        return covering_rate_scorer(fitted, rows, held_out)

    found: list[tuple[float, dict[str, Any]]] = []
    for min_votes, sets in choices.items():
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
        # All are scored on all votes of the same rows. Scores on the sets that were learned from
        # would not be comparable, since these sets differ in size.
        search.fit(X, sets, held_out=table.candidates)
        votes = {"min_votes": min_votes} if len(choices) > 1 else {}
        found.append((search.best_score_, votes | search.best_params_))
    score, chosen = max(found, key=lambda each: each[0])  # ties: the first
    return chosen, score


def _check_choice(grid: Params, n_rows: int, table: CandidateTable) -> None:
    if not grid and table.two_votes is None:
        raise ValueError(
            "There is nothing left to choose: the method has no parameter grid, or all its "
            "parameters are given. Leave out --tune, or give fewer parameters."
        )
    if n_rows < 2 * _FOLDS:
        raise ValueError(
            f"Choosing parameters by cross-validation needs at least {2 * _FOLDS} rows, the table "
            f"has {n_rows}. Leave out --tune."
        )
