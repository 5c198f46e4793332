"""How scores become confidences, for the rows that were learned from and for new rows."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambilearn.confidence.temperature import scale_scores

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
    mixed: NDArray[np.float64] = (1 - share[rows]) * proba + share[rows] * target
    return mixed
