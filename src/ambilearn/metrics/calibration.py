"""Calibration error of confidences."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambilearn._utils.array_checks import as_numbers, check_structure
from ambilearn.backend.arrays import to_numpy
from ambilearn.validation import check_weights


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
