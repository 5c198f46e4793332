"""Calibration error of confidences."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ambilearn._utils.array_checks import as_numbers, check_structure
from ambilearn._utils.types import Array, RandomState
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
        0 is best. With few rows, even perfect confidences have an error above 0: see
        :func:`excess_calibration_error`.

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
    return _CalibrationBins(confidence, weights, n_bins).error(hits)


def excess_calibration_error(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
    n_draws: int = 200,
    random_state: RandomState = 0,
) -> float:
    r"""Calibration error above what chance explains.

    The expected calibration error minus the mean of the same error for outcomes that are drawn from
    the confidences themselves, :math:`P(\text{correct}_i) = c_i`. Its expectation is 0 for perfect
    confidences, for any number of rows.

    Parameters
    ----------
    correct, confidence, n_bins, sample_weight
        As for :func:`expected_calibration_error`.
    n_draws : int, default=200
        Number of outcomes that are drawn.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    float
        May be negative.

    Examples
    --------
    >>> from ambilearn.metrics import excess_calibration_error
    >>> confidence = [0.5] * 50 + [0.9] * 50
    >>> bool(excess_calibration_error([0, 1] * 25 + [1] * 45 + [0] * 5, confidence) < 0)
    True
    """
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1; got {n_draws}.")
    hits, confidence, weights = _confidence_rows(correct, confidence, sample_weight)
    bins = _CalibrationBins(confidence, weights, n_bins)
    rng = check_random_state(random_state)
    drawn = [bins.error(rng.uniform(size=len(hits)) < confidence) for _ in range(n_draws)]
    return bins.error(hits) - float(np.mean(drawn))


class _CalibrationBins:
    """Rows in bins of equal weight by the rank of their confidence."""

    def __init__(
        self, confidence: NDArray[np.float64], weights: NDArray[np.float64], n_bins: int
    ) -> None:
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1; got {n_bins}.")
        self._order = np.lexsort((weights, confidence))  # the same for any order of the rows
        self._weights = weights[self._order]
        ranked = confidence[self._order]
        self._ties = np.flatnonzero(np.r_[True, ranked[1:] > ranked[:-1]])
        place = (np.cumsum(self._weights) - self._weights / 2) / self._weights.sum()
        self._bins = np.searchsorted(place, np.arange(n_bins) / n_bins)
        self._bins = np.unique(self._bins[self._bins < len(ranked)])
        self._expected = np.add.reduceat(self._weights * ranked, self._bins)

    def error(self, hits: Array) -> float:
        """Calibration error of hits and misses."""
        tie_weights = np.add.reduceat(self._weights, self._ties)
        shares = np.add.reduceat(self._weights * hits[self._order], self._ties)
        shares /= np.where(tie_weights > 0, tie_weights, 1.0)
        lengths = np.diff(np.r_[self._ties, len(hits)])
        observed = np.add.reduceat(self._weights * np.repeat(shares, lengths), self._bins)
        return float(np.abs(observed - self._expected).sum() / self._weights.sum())


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
