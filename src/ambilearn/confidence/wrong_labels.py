"""Doubt in ordinary labels, from held-out outputs or probabilities of any model."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.array_checks import column_names
from ambilearn._utils.labels import listed_labels
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Label
from ambilearn._utils.warnings import warn_user
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.confidence.doubt import LabelDoubt
from ambilearn.confidence.noise_model import fit_noise_model
from ambilearn.metrics.checks import check_probabilities
from ambilearn.validation import check_row_weights

_ODDS = 3.0  # by which another label must be ahead to replace the given one
_MIN_STANDARD_ERRORS = 2.0  # by which the outputs must be larger for rows with the label
_SMALLEST_PROBABILITY = 1e-6  # smaller ones, and zero, count as this


def has_ordinary_labels(sets: CandidateSets) -> bool:
    """Whether each row has one label. A sparse mask is for labels too many for a dense matrix."""
    return bool((sets.sizes == 1).all()) and not sets.sparse_mask


def judge_labels(outputs: NDArray[np.float64], sets: CandidateSets) -> LabelDoubt:
    """Find wrong labels by the noise model, given one label for each row.

    ``outputs``, of shape (n, l), are held-out outputs or logarithms of held-out probabilities.
    Warns if they do not predict the given labels better than chance: the noise model would then
    take rare labels, or any others, for errors.
    """
    given, rows, classes = sets.labels, np.arange(len(sets)), sets.classes
    if len(classes) == 1:
        return _unchanged(sets, probability=1.0)
    row_weights = check_row_weights(None, outputs, sets.row_weights)
    if not _predict_labels(outputs, given, row_weights):
        warn_user(
            "The features do not predict the given labels better than chance, so wrong labels "
            "cannot be found: no label is changed, and there are no confidences. Add features or "
            "rows, or pass the held-out probabilities of a better model."
        )
        return _unchanged(sets, probability=np.nan)
    model = fit_noise_model(outputs, given, row_weights)
    others = model.posterior.copy()
    others[rows, given] = 0.0
    wrong = others.sum(axis=1)
    others[rows, given] = -1.0
    best = others.argmax(axis=1)
    change = others[rows, best] > _ODDS * model.posterior[rows, given]
    # Without its only row, a label is unknown to the classifier: there is no evidence against it.
    change &= np.bincount(given)[given] > 1
    label = np.where(change, best, given)
    return LabelDoubt(
        score=np.minimum(wrong, 1.0),
        other=classes[best],
        label=classes[label],
        change=change,
        confidence=model.posterior[rows, label],
        probabilities=model.posterior,
        classes=classes,
        noise_matrix=model.matrix,
    )


def _predict_labels(
    outputs: NDArray[np.float64], given: NDArray[np.intp], row_weights: NDArray[np.float64] | None
) -> bool:
    """Whether the output of a label is larger in the rows that have it, beyond chance."""
    weights = np.ones(len(given)) if row_weights is None else row_weights
    gains = outputs[np.arange(len(given)), given]
    gains = gains - np.average(outputs, axis=0, weights=weights)[given]
    standard_error = np.sqrt(weights**2 @ (gains - np.average(gains, weights=weights)) ** 2)
    return bool(weights @ gains > _MIN_STANDARD_ERRORS * standard_error)


def _unchanged(sets: CandidateSets, probability: float) -> LabelDoubt:
    """The result if there is one label only, or the features do not predict the labels."""
    n, l = sets.shape
    return LabelDoubt(
        score=np.zeros(n),
        other=np.full(n, None, dtype=object),
        label=sets.classes[sets.labels],
        change=np.zeros(n, dtype=bool),
        confidence=np.full(n, probability),
        probabilities=np.full((n, l), probability),
        classes=sets.classes,
        noise_matrix=np.full((l, l), probability),
    )


def read_probabilities(
    pred_probs: Any, labels: Any, classes: Collection[Label] | None
) -> tuple[NDArray[np.float64], CandidateSets]:
    """Check held-out probabilities of a model and the labels of the same rows.

    The labels of the columns are ``classes``, or the columns of a data frame, or the sorted
    distinct labels. Returns the logarithms of the probabilities, and the labels.
    """
    if classes is None:
        classes = column_names(pred_probs)
    table = check_probabilities(pred_probs, "pred_probs")
    n_rows, n_columns = table.shape
    if classes is not None and len(listed := listed_labels(classes, "classes")) != n_columns:
        raise ValueError(
            f"pred_probs has {pluralize(n_columns, 'column')} for {len(listed)} classes: pass one "
            "class for each column, in the same order."
        )
    sets = as_candidates(to_numpy(labels), classes=classes)
    if len(sets) != n_rows:
        raise ValueError(
            f"pred_probs has {pluralize(n_rows, 'row')} but there are {len(sets)} labels: pass one "
            "label for each row."
        )
    if len(sets.classes) != n_columns:
        raise ValueError(
            f"pred_probs has {pluralize(n_columns, 'column')} but there are {len(sets.classes)} "
            "different labels: pass the labels of the columns as classes=, such as "
            "classes=model.classes_."
        )
    return np.log(np.maximum(table, _SMALLEST_PROBABILITY)), sets
