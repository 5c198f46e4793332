"""Calibrate scores by the rows that a person has checked."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri

from ambilearn._utils.array_checks import check_structure

_SCALES = (0.1, 0.3, 1.0, 3.0)  # how much a score may be off, on the logit scale
_EDGE = 0.005  # smallest confidence, and smallest distance of a score from 0 and 1


class _Curve(NamedTuple):
    """A logistic curve, fitted to the checked rows, and its weight."""

    by_rank: bool
    intercept: float
    slope: float
    log_evidence: float


class CheckedCalibration:
    r"""Confidences from scores, by a few rows whose labels were checked.

    The probability that a label with the score *s* is correct is the mean, weighted by their
    evidence (Laplace's approximation), of five logistic curves:

    - :math:`\sigma(a + c \operatorname{logit} s)` with the priors :math:`a \sim N(0, v^2)` and
      :math:`c \sim N(1, v^2)`, for *v* = 0.1, 0.3, 1 and 3: the scores are nearly right, or need a
      large correction;
    - :math:`\sigma(a + c\,g)` with the normal score *g* of the rank of *s* among all rows, for
      scores that are not probabilities.

    With few checked rows the confidences stay near the scores, unlike those of Platt's method and
    of isotonic regression.

    Parameters
    ----------
    score : array-like of shape (n_checked,)
        Scores of the checked rows, between 0 and 1.
    right : array-like of shape (n_checked,)
        Whether their labels are correct.
    reference : array-like of shape (n_rows,), optional
        Scores of all rows that the checked rows were drawn from; by default those of the checked
        rows.

    See Also
    --------
    AuditedClassifier : The same for ``predict_proba`` of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.confidence import CheckedCalibration
    >>> score = np.linspace(0.5, 1, 60)
    >>> right = np.arange(60) % 2 == 0  # half of the labels, whatever their score
    >>> CheckedCalibration(score, right)([0.5, 0.95]).round(1)
    array([0.5, 0.5])
    """

    def __init__(
        self, score: ArrayLike, right: ArrayLike, reference: ArrayLike | None = None
    ) -> None:
        check_structure(right, "right")
        scores, hits = _as_scores(score), np.asarray(right, dtype=np.float64)
        if hits.shape != scores.shape or not len(hits) or not np.isin(hits, (0, 1)).all():
            raise ValueError(
                f"right must have one truth value for each of the {len(scores)} checked rows, and "
                "there must be at least one."
            )
        self._reference = np.sort(scores if reference is None else _as_scores(reference))
        self._curves = [
            _fit_curve(_clipped_logit(scores), hits, np.array([0.0, 1.0]), np.full(2, scale))
            for scale in _SCALES
        ]
        by_rank = _fit_curve(
            self._normal_scores(scores), hits, np.array([0.0, 0.5]), np.array([3.0, 0.5])
        )
        self._curves.append(by_rank._replace(by_rank=True))

    def __call__(self, score: ArrayLike) -> NDArray[np.float64]:
        """Confidence of labels with the given scores.

        Parameters
        ----------
        score : array-like of shape (n_rows,)
            Scores between 0 and 1.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = _as_scores(score)
        evidence = np.array([curve.log_evidence for curve in self._curves])
        weights = np.exp(evidence - evidence.max())
        features = {False: _clipped_logit(scores), True: self._normal_scores(scores)}
        values = [expit(c.intercept + c.slope * features[c.by_rank]) for c in self._curves]
        mean: NDArray[np.float64] = weights / weights.sum() @ np.array(values)
        return np.clip(mean, _EDGE, 1 - _EDGE)

    def _normal_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Normal quantile of the rank among all rows; ties have their mean rank."""
        n = len(self._reference)
        ends = [np.searchsorted(self._reference, scores, side) for side in ("left", "right")]
        rank = np.clip((np.mean(ends, axis=0) + 0.5) / (n + 1), 0.5 / (n + 1), 1 - 0.5 / (n + 1))
        quantile: NDArray[np.float64] = ndtri(rank)
        return quantile


def _as_scores(score: ArrayLike) -> NDArray[np.float64]:
    check_structure(score, "score")
    scores = np.asarray(score, dtype=np.float64)
    inside = (scores >= 0) & (scores <= 1)
    if scores.ndim != 1 or not inside.all():
        raise ValueError(
            "score must have one number between 0 and 1 for each row"
            + (f"; got {scores[~inside][0]:g}." if scores.ndim == 1 else ".")
        )
    return scores


def _clipped_logit(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped: NDArray[np.float64] = logit(np.clip(scores, _EDGE, 1 - _EDGE))
    return clipped


def _fit_curve(
    feature: NDArray[np.float64],
    hits: NDArray[np.float64],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> _Curve:
    """Logistic regression with a normal prior: the most likely curve, and its log evidence."""
    design = np.column_stack([np.ones(len(hits)), feature])

    def loss(theta: NDArray[np.float64]) -> float:
        eta = design @ theta
        prior = ((theta - mean) / scale) ** 2
        return float(np.sum(np.logaddexp(0, eta) - hits * eta) + prior.sum() / 2)

    def gradient(theta: NDArray[np.float64]) -> NDArray[np.float64]:
        slope: NDArray[np.float64] = design.T @ (expit(design @ theta) - hits)
        return slope + (theta - mean) / scale**2

    theta = minimize(loss, mean, jac=gradient, method="BFGS").x
    p = expit(design @ theta)
    hessian = (design * (p * (1 - p))[:, None]).T @ design + np.diag(scale**-2.0)
    volume = np.log(scale).sum() + np.linalg.slogdet(hessian)[1] / 2
    return _Curve(False, float(theta[0]), float(theta[1]), -loss(theta) - float(volume))
