r"""Scores with and without true labels.

Notation: row *i* has the candidate set :math:`S_i`, the true label :math:`y_i` and the predicted
label :math:`\hat y_i`; :math:`[\cdot]` is 1 if the condition holds and 0 otherwise.

With true labels: :func:`tolerance_accuracy` and :func:`transductive_accuracy`, in addition to
:func:`sklearn.metrics.accuracy_score` for predictions.
Of confidences: :func:`expected_calibration_error`.
From candidate sets alone: :func:`covering_rate`, :func:`approximated_accuracy`, and as scorers for
scikit-learn's searches :func:`covering_rate_scorer`, :func:`approximated_accuracy_scorer`. Every
score takes ``sample_weight``, and is then the weighted mean over the rows.
"""

from ambilearn.metrics.accuracies import (
    TransductiveAccuracy,
    tolerance_accuracy,
    transductive_accuracy,
)
from ambilearn.metrics.calibration import expected_calibration_error
from ambilearn.metrics.candidate_scores import (
    approximated_accuracy,
    approximated_accuracy_scorer,
    covering_rate,
    covering_rate_scorer,
)

__all__ = [
    "TransductiveAccuracy",
    "approximated_accuracy",
    "approximated_accuracy_scorer",
    "covering_rate",
    "covering_rate_scorer",
    "expected_calibration_error",
    "tolerance_accuracy",
    "transductive_accuracy",
]
