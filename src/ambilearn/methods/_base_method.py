"""The method that another one wraps."""

from typing import Any, Self

from sklearn.utils import get_tags

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
                        f"{name!r} cannot be set: estimator is None, which means "
                        f"{self._default_estimator} with the parameters of {me}. Set those, or "
                        "give the estimator first, in Python: "
                        f"{me}(estimator={self._default_estimator}())."
                    )
        found: Self = super().set_params(**params)  # type: ignore[misc]
        return found

    def _has_parameter(self, key: str) -> bool:
        name, inside, _ = key.partition("__")
        # set_params checks the rest of the name.
        return name == "estimator" if inside else super()._has_parameter(key)  # type: ignore[misc]

    @property
    def _takes_row_weights(self) -> bool:
        return self.estimator is None or self.estimator._takes_row_weights

    def _check_row_weights(self, candidates: CandidateSets) -> None:
        if candidates.row_weights is not None and not self._takes_row_weights:
            raise ValueError(
                f"{type(self.estimator).__name__}, the estimator to be wrapped, cannot weight "
                "rows: omit sample_weight, or wrap a method whose fit takes it, such as PLCL."
            )


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
            raise not_supported_on_device(f"'estimator' ({name})", X)
