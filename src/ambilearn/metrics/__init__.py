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

import lazy_loader

# __init__.pyi lists the public names. Each is imported when first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
