r"""Calibrated confidences, and temperature scaling: sharpen or soften probabilities by one number.

Scores *s* become the probabilities :math:`\operatorname{softmax}(b\,s)` [1]_. *b* is the inverse
temperature: above 1 the probabilities are sharper than those of *b* = 1, below 1 flatter. The order
of the labels in a row does not change. With :math:`s = \log p` this is :math:`p^b`, normalized.

References
----------
.. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
       ICML 2017.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import softmax

_SMALLEST = 1e-6  # of a probability whose logarithm is taken


@dataclass(frozen=True, eq=False)
class Calibration:
    """Confidences of a fitted classifier, or why there are none.

    Attributes
    ----------
    reason : str
        Why the scores were calibrated as they were, or why not; a clause for a report.
    inverse_temperature : float or None
        The factor *b* of :func:`scale_scores` for probabilities of new rows; None if they are not
        calibrated.
    of_logarithms : bool
        Whether the factor applies to the logarithms of the probabilities, and not to the
        probabilities themselves.
    cleaned : ndarray of shape (n_pairs,) or None
        Confidence of every candidate of the rows that were learned from, in the order of their
        :class:`~ambilearn.CandidateSets`; None if they are not calibrated.
    """

    reason: str
    inverse_temperature: float | None = None
    of_logarithms: bool = False
    cleaned: NDArray[np.float64] | None = field(default=None, repr=False)

    def scale(self, proba: ArrayLike) -> NDArray[np.float64] | None:
        """Calibrated probabilities of new rows.

        Parameters
        ----------
        proba : array-like of shape (n_rows, n_labels)
            Output of ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_rows, n_labels) or None
            None if new rows are not calibrated. The order of the labels in a row is that of
            ``proba``.
        """
        if self.inverse_temperature is None:
            return None
        scores = np.asarray(proba, dtype=np.float64)
        if self.of_logarithms:
            scores = np.log(np.maximum(scores, _SMALLEST))
        return scale_scores(scores, self.inverse_temperature)


def with_top_confidence(
    proba: NDArray[np.float64], rows: NDArray[np.intp], top: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Probabilities in which the most likely label of each row has a given confidence.

    A row with the largest probability *m* and *k* labels becomes :math:`(1 - \lambda) p + \lambda
    u`, where *u* is the uniform distribution if the confidence is below *m*, and all weight on the
    most likely label otherwise. The order of the labels does not change; the confidence is above
    :math:`1/k`.

    ``proba`` has the probability of each pair of a row and a label, and ``rows`` the rows of the
    pairs in ascending order; ``top`` has the confidence of the most likely label of each row.

    >>> import numpy as np
    >>> proba = np.array([0.5, 0.3, 0.2, 0.6, 0.4])
    >>> rows = np.array([0, 0, 0, 1, 1])
    >>> with_top_confidence(proba, rows, np.array([0.8, 0.55])).round(2)
    array([0.8 , 0.12, 0.08, 0.55, 0.45])
    """
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    uniform = 1 / np.diff(starts, append=len(rows))
    largest = np.maximum.reduceat(proba, starts)
    top = np.clip(top, uniform + 1e-3 * (largest - uniform), 1.0)
    raised = top >= largest
    gap = np.where(raised, 1 - largest, largest - uniform)
    share = np.divide(np.abs(top - largest), gap, out=np.zeros_like(top), where=gap > 0)
    is_top = np.zeros(len(proba))
    by_row = np.lexsort((-proba, rows))  # ties keep the order of the labels
    is_top[by_row[starts]] = 1.0
    target = np.where(raised[rows], is_top, uniform[rows])
    return (1 - share[rows]) * proba + share[rows] * target


def scale_scores(scores: ArrayLike, inverse_temperature: float) -> NDArray[np.float64]:
    r"""Probabilities :math:`\operatorname{softmax}(b\,s)` of scores *s*.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_labels)
        Scores of the labels, such as the logarithms of probabilities. A label with the score
        ``-inf`` has the probability 0.
    inverse_temperature : float
        The factor *b*, above 0.

    Returns
    -------
    ndarray of shape (n_rows, n_labels)
        Probabilities; the rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.confidence import scale_scores
    >>> scale_scores(np.log([[0.6, 0.3, 0.1]]), 2.0).round(2)
    array([[0.78, 0.2 , 0.02]])
    """
    return softmax(inverse_temperature * np.asarray(scores), axis=1)


def fit_temperature(
    scores: ArrayLike, targets: ArrayLike, *, bounds: tuple[float, float] = (0.1, 200.0)
) -> float:
    r"""Inverse temperature at which the mean confidence is the expected share of correct labels.

    .. math:: \frac1n \sum_i \max_j \operatorname{softmax}(b\,s_i)_j
              = \frac1n \sum_i T_{i \hat\jmath(i)}, \qquad \hat\jmath(i) = \arg\max_j s_{ij}

    Unlike the *b* with the smallest cross entropy to the targets, it hardly depends on single rows
    in which the target has a score that is far too low. Many methods give such a label the
    probability zero.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_labels)
        Scores *s* of rows that the classifier has not been fitted to; ``-inf`` for a label with
        probability 0.
    targets : array-like of shape (n_rows, n_labels)
        Probabilities *T* of the labels: one 1 in each row for known labels.
    bounds : tuple of float, default=(0.1, 200.0)
        Smallest and largest value.

    Returns
    -------
    float
        *b* for :func:`scale_scores`.

    Examples
    --------
    Three of four predictions with a probability of .9 are correct, so the probabilities are too
    high:

    >>> import numpy as np
    >>> from ambilearn.confidence import fit_temperature, scale_scores
    >>> scores = np.log([[0.9, 0.1]] * 4)
    >>> b = fit_temperature(scores, [[1, 0], [1, 0], [1, 0], [0, 1]])
    >>> scale_scores(scores, b)[0].round(2)
    array([0.75, 0.25])
    """
    scores, targets = np.asarray(scores, float), np.asarray(targets, float)
    if scores.ndim != 2 or scores.shape != targets.shape:
        raise ValueError(
            f"scores and targets must have the same shape (n_rows, n_labels); got {scores.shape} "
            f"and {targets.shape}."
        )
    if not (np.isfinite(scores.max(axis=1)).all() and np.isfinite(targets).all()):
        raise ValueError("scores and targets must be finite; a score may be -inf.")
    share = targets[np.arange(len(scores)), scores.argmax(axis=1)].mean()

    def excess(log_b: float) -> float:
        """Mean confidence above the share; it grows with *b*."""
        return float(scale_scores(scores, np.exp(log_b)).max(axis=1).mean() - share)

    low, high = np.log(bounds)
    if excess(low) >= 0:
        return bounds[0]
    return bounds[1] if excess(high) <= 0 else float(np.exp(brentq(excess, low, high)))
