"""Folds of rows whose labels are candidate sets."""

from numbers import Integral
from typing import Any

from sklearn.model_selection import KFold, check_cv

from ambilearn._utils.types import Matrix, RandomState


def split_rows(cv: Any, X: Matrix, n_rows: int, random_state: RandomState) -> list[tuple[Any, Any]]:
    """Training and held-out rows of every fold; an integer is a number of shuffled folds.

    Raises ValueError if a splitter needs labels or groups, which candidate sets are not.
    """
    splitter = cv
    if isinstance(cv, Integral):
        if n_rows < int(cv):
            raise ValueError(
                f"Too few rows for the {cv} folds of cv={cv}: n_samples={n_rows}. Add rows, or "
                "lower cv."
            )
        splitter = KFold(cv, shuffle=True, random_state=random_state)
    try:
        return list(check_cv(splitter).split(X))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The rows cannot be split by cv={cv!r} ({error}). Use a splitter that needs neither "
            "labels nor groups, such as KFold, with at most as many folds as rows."
        ) from error
