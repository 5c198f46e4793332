"""Find the method inside an estimator: alone, at the end of a pipeline, or in a search.

Ensembles, :mod:`ambilearn.confidence` and :mod:`ambilearn.crowd` accept any of these. An estimator
without a method learns from ordinary labels and weights of rows.
"""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ambilearn._utils.array_checks import is_device_array
from ambilearn._utils.sklearn_compat import BaseSearchCV
from ambilearn._utils.text import TimeLeft
from ambilearn._utils.types import Array, Estimator, Matrix, RandomState
from ambilearn._utils.warnings import complete_fits_only, ignoring
from ambilearn.backend import index_rows
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets


def method_inside(estimator: Estimator) -> PartialLabelClassifier | None:
    """The method that learns from candidate sets in an estimator; None if there is none.

    The estimator is a method, a pipeline, a search or any other classifier, fitted or not.
    """
    if isinstance(estimator, PartialLabelClassifier):
        return estimator
    if isinstance(estimator, Pipeline):
        return method_inside(estimator.steps[-1][1])
    if is_search(estimator):
        return method_inside(getattr(estimator, "best_estimator_", estimator.estimator))
    return None


def is_search(estimator: Estimator) -> bool:
    """Whether an estimator searches over parameters of another one."""
    return isinstance(estimator, BaseSearchCV)


def takes_row_weights(estimator: Estimator) -> bool:
    """Whether an estimator can weight rows."""
    learner = method_inside(estimator)
    if learner is None:
        return weight_argument(estimator) is not None
    return learner._takes_row_weights


def weight_argument(estimator: Estimator) -> str | None:
    """Argument of ``fit`` for weights of rows, of an estimator without a method, or None.

    The classifier is alone, at the end of a pipeline, or in a search.
    """
    if is_search(estimator):
        return weight_argument(estimator.estimator)
    if not isinstance(estimator, Pipeline):
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    step, last = estimator.steps[-1]
    name = weight_argument(last)
    routed = get_config()["enable_metadata_routing"]
    return name if name is None or routed else f"{step}__{name}"


def align_columns(
    confidences: NDArray[np.float64], known: Array, classes: Array
) -> NDArray[np.float64]:
    """Confidences with a column for each of ``classes``: zero for labels not learned.

    ``known``, a subset of ``classes``, are the labels of the columns of ``confidences``.
    """
    column = {label: j for j, label in enumerate(classes.tolist())}
    aligned = np.zeros((len(confidences), len(classes)))
    aligned[:, [column[label] for label in known.tolist()]] = confidences
    return aligned


def without_preprocessing(X: Matrix, estimator: Estimator) -> tuple[Matrix, Estimator]:
    """Rows as the last step of a pipeline receives them, and that step.

    Steps that use labels stay in the pipeline, since they must not see those of held-out rows.
    """
    if not isinstance(estimator, Pipeline):
        return X, estimator
    steps = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    if not steps or any(get_tags(step).target_tags.required for step in steps):
        return X, estimator if steps else estimator.steps[-1][1]
    return clone(estimator[:-1]).fit_transform(X), estimator.steps[-1][1]


def find_ridge_method(estimator: Estimator) -> Estimator:
    """A new method with leave-one-out outputs in closed form; None if there is none.

    It is the method itself, or the first such member of an ensemble.
    """
    ours = isinstance(estimator, PartialLabelClassifier)
    return estimator._ridge_method() if ours else None


class Fold(NamedTuple):
    """Rows of a fold, and a model that was fitted to the other rows."""

    model: Estimator
    rows: NDArray[np.intp]
    X: Matrix


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


def fit_folds(
    estimator: Estimator,
    X: Matrix,
    sets: CandidateSets,
    n_folds: int,
    random_state: int | None,
    progress: Callable[[str], None],
    *,
    stage: str,
) -> Iterator[Fold]:
    """Fit a clone of an estimator for each fold, without its rows; at most one fold for each row.

    The estimator is a method, a pipeline that ends in one, or a search over one. ``progress`` is
    called with a status message that begins with ``stage`` before each fit.
    """
    folds = KFold(min(n_folds, len(sets)), shuffle=True, random_state=random_state)
    pairwise = get_tags(estimator).input_tags.pairwise  # of a kernel matrix, columns are rows, too
    total, time_left = folds.get_n_splits(), TimeLeft()
    for i, (rest, rows) in enumerate(folds.split(np.empty(len(sets)))):
        progress(f"{stage}: fit {i + 1} of {total}{time_left.describe(i, total - i)}")
        columns = rest if pairwise else None
        # A fit to all rows gives the same warnings.
        with ignoring(Warning), complete_fits_only():
            model = without_checkpoint(estimator)
            model.fit(_take(X, rest, columns), sets[rest])
        yield Fold(model, rows, _take(X, rows, columns))


def without_checkpoint(estimator: Estimator) -> Estimator:
    """A clone without the file of its training, which is that of the fit to all rows."""
    model = clone(estimator)
    for part in (model, *model.get_params().values()):
        if isinstance(part, PartialLabelClassifier) and hasattr(part, "checkpoint"):
            part.set_params(checkpoint=None)
    return model


def _take(X: Matrix, rows: NDArray[np.intp], columns: NDArray[np.intp] | None) -> Matrix:
    if columns is None or sparse.issparse(X) or is_device_array(X):  # an error of the fit
        return index_rows(X, rows)
    return np.asarray(X)[np.ix_(rows, columns)]
