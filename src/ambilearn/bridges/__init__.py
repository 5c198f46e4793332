"""Convert from and to other tools: candidate sets from classifiers, sample weights.

:func:`candidates_from_top_k`, :func:`candidates_from_prediction_sets` and
:func:`candidates_from_similarity` return candidate sets, the y of every method.
:func:`to_sample_weights` and :func:`soft_labels` convert the learned confidences for any other
model. :func:`to_label_studio` and :func:`from_label_studio` exchange rows and answers with Label
Studio.
"""

from ambilearn.bridges.classifiers import (
    candidates_from_prediction_sets,
    candidates_from_similarity,
    candidates_from_top_k,
)
from ambilearn.bridges.label_studio import (
    LabelStudioAnswer,
    from_label_studio,
    to_label_studio,
)
from ambilearn.bridges.weights import soft_labels, to_sample_weights

__all__ = [
    "LabelStudioAnswer",
    "candidates_from_prediction_sets",
    "candidates_from_similarity",
    "candidates_from_top_k",
    "from_label_studio",
    "soft_labels",
    "to_label_studio",
    "to_sample_weights",
]
