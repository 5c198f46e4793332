"""Held-out outputs: predictions for each row by a classifier that was fitted without it."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC

from ambilearn._utils.sklearn_compat import _num_samples, _safe_indexing, _safe_split
from ambilearn._utils.types import Estimator, Matrix, RandomState
from ambilearn._utils.warnings import complete_fits_only
from ambilearn.backend import HOST
from ambilearn.candidates import CandidateSets
from ambilearn.confidence.held_out import join_blocks, project_outputs
from ambilearn.kernel.leave_one_out import OutputBlock
from ambilearn.learners import (
    align_columns,
    is_search,
    method_inside,
    weight_argument,
    without_checkpoint,
)

HeldOut = Callable[[CandidateSets], NDArray[np.float64]]  # weighted candidates to confidences


class HeldOutByRidge:
    """Leave-one-out confidences of a kernel method in closed form.

    The kernel matrix is factored once, for any number of calls.

    ``everything`` has all labels as candidates of each row.
    """

    def __init__(self, method: Estimator, X: Matrix, everything: CandidateSets) -> None:
        self._method = method
        self._regressor = method._make_regressor(method._training_rows(X), everything)

    def __call__(self, candidates: CandidateSets) -> NDArray[np.float64]:
        """Confidences of shape (n, l), as :func:`ambilearn.find_doubtful` computes its outputs."""
        support = HOST.support(candidates)

        def held_out(targets: NDArray[np.float64]) -> Iterable[OutputBlock]:
            return self._regressor.held_out(support.scatter(targets).ravel())

        outputs = join_blocks(held_out(project_outputs(held_out, support)), candidates.shape)
        return self._method._confidences(outputs)


class HeldOutByFolds:
    """Confidences of classifiers that are fitted without a fold of the rows.

    The folds are the same in every call.
    """

    def __init__(
        self, estimator: Estimator, X: Matrix, n_folds: int, random_state: RandomState
    ) -> None:
        self._estimator, self._X = without_checkpoint(estimator), X
        splitter = KFold(n_folds, shuffle=True, random_state=random_state)
        self._folds = list(splitter.split(np.empty(_num_samples(X))))

    def __call__(self, candidates: CandidateSets) -> NDArray[np.float64]:
        """Confidences of shape (n, l)."""
        confidences = np.zeros(candidates.shape)
        for train, test in self._folds:
            # _safe_split handles both axes of a kernel matrix.
            rows, _ = _safe_split(self._estimator, self._X, None, train)
            held_out, _ = _safe_split(self._estimator, self._X, None, test, train)
            with complete_fits_only():
                model = fit_candidates(self._estimator, rows, candidates[train])
            found = model.predict_proba(held_out)
            confidences[test] = align_columns(found, model.classes_, candidates.classes)
        return confidences


def fit_candidates(estimator: Estimator, X: Matrix, candidates: CandidateSets) -> Any:
    """A clone, fitted to weighted candidates: as y, or as repeated rows with weights.

    A search over another classifier, or one that calibrates its probabilities by folds, gets the
    most likely label of each row. It would have repeated rows in the training rows and in the
    held-out rows of a fold.
    """
    model = clone(estimator)
    if method_inside(model) is not None:
        return model.fit(X, candidates)
    support = HOST.support(candidates)
    if is_search(model) or _calibrates_by_folds(model):
        return model.fit(X, candidates.classes[support.best_labels(support.prior())])
    rows = _safe_indexing(X, support.rows)
    name = weight_argument(model)
    if name is None:  # its fit has **fit_params
        prefixed = isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]
        name = f"{model.steps[-1][0]}__sample_weight" if prefixed else "sample_weight"
    return model.fit(rows, candidates.classes[candidates.labels], **{name: support.prior()})


def _calibrates_by_folds(estimator: Any) -> bool:
    """Whether a classifier, or the last step of a pipeline, has folds of its own."""
    last = last_step(estimator)
    has_folds = isinstance(last, (SVC, NuSVC)) and last.probability is True
    return has_folds or isinstance(last, CalibratedClassifierCV)


def last_step(estimator: Estimator) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
