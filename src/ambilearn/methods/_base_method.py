"""The method that another one wraps."""

from typing import Any

from sklearn.utils.validation import has_fit_parameter

from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets


def fit_base(
    base: PartialLabelClassifier, X: Any, candidates: CandidateSets
) -> PartialLabelClassifier:
    """Fit the base of a wrapper to candidate sets, whose rows may have weights.

    Parameters
    ----------
    base : PartialLabelClassifier
        A method, which is fitted in place.
    X : array or sparse matrix of shape (n, d)
        Training rows.
    candidates : CandidateSets
        Their candidate sets.

    Returns
    -------
    base : PartialLabelClassifier
    """
    if candidates.row_weights is None:
        return base.fit(X, candidates)
    if not has_fit_parameter(base, "sample_weight"):
        raise ValueError(
            f"{type(base).__name__}, the estimator to be wrapped, has no weights of rows: leave "
            "sample_weight out, or wrap a method that takes it."
        )
    fitted: PartialLabelClassifier = base.fit(X, candidates, sample_weight=candidates.row_weights)  # type: ignore[call-arg]
    return fitted
