"""Which method in an estimator has its leave-one-out outputs in closed form, and on which rows."""

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ambilearn.methods._ensemble import EnsembleClassifier
from ambilearn.methods._kernel_classifier import KernelPartialLabelClassifier

ROUNDS = 4  # of held-out outputs, each from the confidences that the last one gives


def without_preprocessing(X: Any, estimator: Any) -> tuple[Any, Any]:
    """Rows as the last step of a pipeline sees them, and that step.

    Steps that look at the labels must not see those of a row that is held out: they stay.
    """
    if not isinstance(estimator, Pipeline):
        return X, estimator
    steps = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    if not steps or any(get_tags(step).target_tags.required for step in steps):
        return X, estimator if steps else estimator.steps[-1][1]
    return clone(estimator[:-1]).fit_transform(X), estimator.steps[-1][1]


def find_ridge_method(estimator: Any) -> KernelPartialLabelClassifier | None:
    """A clone of the method that has its leave-one-out outputs in closed form, if there is one.

    It is the estimator itself, or in an ensemble the first such member.
    """
    if isinstance(estimator, KernelPartialLabelClassifier):
        method: KernelPartialLabelClassifier = clone(estimator)
        return method
    if not isinstance(estimator, EnsembleClassifier):
        return None
    ensemble = clone(estimator)
    ensemble._validate_params()
    seed = ensemble._seed()
    members = (ensemble._prepare(member, seed) for _, member in ensemble._checked_members())
    return next((found for each in members if (found := find_ridge_method(each))), None)
