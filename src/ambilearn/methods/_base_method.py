"""The method that another one wraps."""

from typing import Any, Self

from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ambilearn.base import PartialLabelClassifier, not_supported_on_device
from ambilearn.candidates import CandidateSets


class OptionalEstimatorMixin:
    """Base of the methods whose ``estimator`` may be None, for a default with their parameters."""

    estimator: PartialLabelClassifier | None
    _default_estimator = "PLAGGD"

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and with ``estimator__`` before their names those of the estimator.

        Parameters
        ----------
        **params
            Values by name.

        Returns
        -------
        self : object
        """
        if params.get("estimator", self.estimator) is None:
            for name in params:
                if name.startswith("estimator__"):
                    me = type(self).__name__
                    raise ValueError(
                        f"{name!r} cannot be set: estimator is None, which stands for "
                        f"{self._default_estimator} with the parameters of {me}. Set those, or "
                        "give the estimator first, in Python: "
                        f"{me}(estimator={self._default_estimator}())."
                    )
        found: Self = super().set_params(**params)  # type: ignore[misc]
        return found


class WrapperMixin(OptionalEstimatorMixin):
    """Base of the methods that wrap another, ``estimator``: they compute where that one can."""

    _computes_on_devices = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if self.estimator is not None:
            tags.array_api_support = get_tags(self.estimator).array_api_support
        return tags

    def _check_device_support(self, X: Any) -> None:
        if not get_tags(self).array_api_support:
            name = type(self.estimator).__name__
            raise not_supported_on_device(f"'estimator', a {name},", X)


def fit_base(base: PartialLabelClassifier, X: Any, sets: CandidateSets) -> PartialLabelClassifier:
    """Fit the base of a wrapper to candidate sets, whose rows may have weights.

    Parameters
    ----------
    base : PartialLabelClassifier
        A method, which is fitted in place.
    X : array or sparse matrix of shape (n, d)
        Training rows.
    sets : CandidateSets
        Their candidate sets.

    Returns
    -------
    base : PartialLabelClassifier
    """
    if sets.row_weights is None:
        return base.fit(X, sets)
    if not has_fit_parameter(base, "sample_weight"):
        raise ValueError(
            f"{type(base).__name__}, the estimator to be wrapped, has no weights of rows: leave "
            "sample_weight out, or wrap a method that takes it."
        )
    fitted: PartialLabelClassifier = base.fit(X, sets, sample_weight=sets.row_weights)  # type: ignore[call-arg]
    return fitted
