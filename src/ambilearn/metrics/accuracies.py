"""Accuracy and calibration error, if it is known which labels are true."""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ambilearn._utils.array_checks import as_numbers, check_structure
from ambilearn._utils.suspicious_labels import check_comparable_labels
from ambilearn._utils.types import AnyCandidates, Array
from ambilearn.backend import HOST
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import as_candidates
from ambilearn.metrics.checks import check_labels, check_scores, find_positions, mean_score
from ambilearn.validation import check_weights


def tolerance_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    tolerance: float,
    classes: Collection[object] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Share of rows whose predicted label differs from the true label by at most a tolerance.

    .. math:: \frac1n \sum_i [\, |\hat y_i - y_i| \le t \,]

    The PL-CL paper calls this MAE3 and MAE5 for :math:`t = 3` and :math:`t = 5` (years of age, on
    FG-NET).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        True and predicted labels.
    tolerance : float
        Largest difference that still counts as right, *t*.
    classes : array-like of shape (n_labels,), optional
        Labels in their order. If given, the difference is that of the positions in this order;
        otherwise labels must be numbers.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> from ambilearn.metrics import tolerance_accuracy
    >>> tolerance_accuracy([20, 31, 40], [23, 31, 44], tolerance=3)
    0.6666666666666666
    >>> tolerance_accuracy(["xs", "m"], ["s", "xl"], 1, classes=["xs", "s", "m", "l", "xl"])
    0.5
    """
    y_true, y_pred = _same_length(y_true, y_pred)
    if classes is not None:
        codes = find_positions(y_true, classes), find_positions(y_pred, classes)
        for labels, code in zip((y_true, y_pred), codes, strict=True):
            if (code < 0).any():
                unknown = labels[code < 0].tolist()[0]
                raise ValueError(
                    f"The label {unknown!r} is not among the classes: pass all labels, in their "
                    "order, as classes=."
                )
        y_true, y_pred = codes
    elif not all(y.dtype.kind in "biuf" for y in (y_true, y_pred)):
        raise ValueError("The labels are not numbers: pass their order as classes=.")
    hits = np.abs(y_true.astype(float) - y_pred.astype(float)) <= tolerance
    return mean_score(hits, sample_weight)


class TransductiveAccuracy(NamedTuple):
    """Accuracy on the training rows, by three definitions."""

    confidences: float
    outputs_in_set: float
    outputs: float


def transductive_accuracy(
    y_true: ArrayLike,
    y_candidates: AnyCandidates,
    confidences: Any,
    outputs: ArrayLike,
    classes: Collection[object] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> TransductiveAccuracy:
    r"""Accuracy on the training rows: how well the candidate sets were disambiguated.

    There are three definitions, with results that differ by several percentage points:

    - ``confidences``: :math:`\hat y_i = \arg\max_{j \in S_i} P_{ij}`, from the label confidences
      *P* that the method learned (``label_distributions_``);
    - ``outputs_in_set``: :math:`\hat y_i = \arg\max_{j \in S_i} H_{ij}`, from the output *H* of the
      classifier on the training rows;
    - ``outputs``: :math:`\hat y_i = \arg\max_j H_{ij}` over all labels.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Hidden true labels of the training rows.
    y_candidates : candidate sets of n_rows rows, in any accepted form
        Candidate sets that the method was trained on.
    confidences : array-like or sparse matrix of shape (n_rows, n_labels)
        Label confidences *P*.
    outputs : array-like of shape (n_rows, n_labels)
        Classifier outputs *H* on the training rows. With two labels also of shape (n_rows,), large
        for the second label, as ``decision_function`` has it.
    classes : array-like of shape (n_labels,), optional
        Labels of the columns; by default those of ``y_candidates``.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    TransductiveAccuracy
        All three definitions, a named tuple.

    Examples
    --------
    >>> from ambilearn.metrics import transductive_accuracy
    >>> P = [[0.6, 0.4, 0.0], [0.0, 0.3, 0.7]]
    >>> H = [[0.2, 0.3, 0.1], [0.9, 0.1, 0.5]]
    >>> transductive_accuracy([0, 2], [{0, 1}, {1, 2}], P, H)
    TransductiveAccuracy(confidences=1.0, outputs_in_set=0.5, outputs=0.0)
    """
    sets = as_candidates(y_candidates, classes=classes)
    support = HOST.support(sets)
    P = check_scores(confidences, *sets.shape, "confidences")
    if sparse.issparse(outputs):
        raise ValueError(
            "outputs is sparse, so it has no entry for labels that are not candidates, which the "
            "third definition needs: pass model.decision_function(X)."
        )
    check_structure(outputs, "outputs")
    H = as_numbers(to_numpy(outputs), "outputs")
    if H.ndim == 1 and len(sets.classes) == 2:
        H = np.multiply.outer(H, [-1.0, 1.0])
    H = check_scores(H, *sets.shape, "outputs")
    return TransductiveAccuracy(
        confidences=_accuracy(y_true, support.best(P), sample_weight),
        outputs_in_set=_accuracy(y_true, support.best(H), sample_weight),
        outputs=_accuracy(y_true, sets.classes[H.argmax(axis=1)], sample_weight),
    )


def _accuracy(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
    y_true, y_pred = _same_length(y_true, y_pred)
    check_comparable_labels(y_true, y_pred, "y_true", "the predicted labels")
    return mean_score(y_true == y_pred, sample_weight)


def _same_length(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
    y_true, y_pred = check_labels(y_true), check_labels(y_pred)
    if len(y_true) != len(y_pred) or not len(y_true):
        raise ValueError(
            f"There are {len(y_true)} true but {len(y_pred)} predicted labels: pass one of each "
            "for every row, and at least one row."
        )
    return y_true, y_pred


def expected_calibration_error(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean difference between the confidence of labels and the share of them that is correct.

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \left| \frac{1}{n_b} \sum_{i \in B_b}
        (c_i - [\hat y_i = y_i]) \right|

    with the confidences :math:`c_i` and bins :math:`B_b` of equal size by their rank [1]_. Rows of
    equal confidence count as their mean, so the result does not depend on the order of the rows.

    Parameters
    ----------
    correct : array-like of shape (n_rows,)
        Whether each label is correct: truth values, or 0 and 1.
    confidence : array-like of shape (n_rows,)
        Confidence of each label, between 0 and 1.
    n_bins : int, default=10
        Number of bins.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row. Bins then have equal total weight.

    Returns
    -------
    float
        0 is best. With few rows, even perfect confidences have an error above 0: compare with the
        error of outcomes that are drawn from the confidences.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
           ICML 2017.

    Examples
    --------
    >>> from ambilearn.metrics import expected_calibration_error
    >>> round(expected_calibration_error([1, 1, 0, 1], [0.9, 0.9, 0.6, 0.6], n_bins=2), 2)
    0.1
    """
    hits, confidence, weights = _confidence_rows(correct, confidence, sample_weight)
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1; got {n_bins}.")
    order = np.lexsort((weights, confidence))  # the same for any order of the rows
    hits, confidence, weights = hits[order], confidence[order], weights[order]
    ties = np.flatnonzero(np.r_[True, confidence[1:] > confidence[:-1]])
    tie_weights = np.add.reduceat(weights, ties)
    shares = np.add.reduceat(weights * hits, ties) / np.where(tie_weights > 0, tie_weights, 1.0)
    gaps = np.repeat(shares, np.diff(np.r_[ties, len(hits)])) - confidence
    place = (np.cumsum(weights) - weights / 2) / weights.sum()
    bins = np.searchsorted(place, np.arange(n_bins) / n_bins)
    errors = np.add.reduceat(weights * gaps, np.unique(bins[bins < len(hits)]))
    return float(np.abs(errors).sum() / weights.sum())


def _confidence_rows(
    correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Checked hits, confidences and weights."""
    values = []
    for name, given in (("correct", correct), ("confidence", confidence)):
        check_structure(given, name)
        value = as_numbers(to_numpy(given), name).astype(np.float64)
        if value.ndim != 1 or not len(value):
            raise ValueError(f"{name} must have the shape (n_rows,); got {value.shape}.")
        if not ((value >= 0) & (value <= 1)).all():
            i = int(np.flatnonzero(~((value >= 0) & (value <= 1)))[0])
            raise ValueError(f"{name} must be between 0 and 1; in row {i} it is {value[i]:g}.")
        values.append(value)
    hits, confidence = values
    if len(hits) != len(confidence):
        raise ValueError(
            f"There are {len(confidence)} confidences, but correct has {len(hits)} rows: pass one "
            "of each for every row."
        )
    if sample_weight is None:
        return hits, confidence, np.ones(len(hits))
    return hits, confidence, check_weights(sample_weight, hits)
