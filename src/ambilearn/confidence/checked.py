"""Calibrate scores, or a classifier, by the rows that a person has checked."""

from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_predict
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.sklearn_compat import HasMethods
from ambilearn._utils.text import shorten_list
from ambilearn._utils.types import AnyCandidates, Array, Estimator, Matrix
from ambilearn.backend.arrays import to_numpy
from ambilearn.confidence.calibration import with_top_confidence

_SCALES = (0.1, 0.3, 1.0, 3.0)  # how much a score may be off, on the logit scale
_EDGE = 0.005  # smallest confidence, and smallest distance of a score from 0 and 1


class _Curve(NamedTuple):
    """A logistic curve, fitted to the checked rows, and its weight."""

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
        self._by_rank = _fit_curve(
            self._normal_scores(scores), hits, np.array([0.0, 0.5]), np.array([3.0, 0.5])
        )

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
        pairs = [(curve, _clipped_logit(scores)) for curve in self._curves]
        pairs.append((self._by_rank, self._normal_scores(scores)))
        values = [expit(curve.intercept + curve.slope * feature) for curve, feature in pairs]
        mean: NDArray[np.float64] = softmax([c.log_evidence for c, _ in pairs]) @ np.array(values)
        return np.clip(mean, _EDGE, 1 - _EDGE)

    def _normal_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Normal quantile of the rank among all rows; ties have their mean rank."""
        n = len(self._reference)
        ends = [np.searchsorted(self._reference, scores, side) for side in ("left", "right")]
        rank = np.clip((np.mean(ends, axis=0) + 0.5) / (n + 1), 0.5 / (n + 1), 1 - 0.5 / (n + 1))
        return ndtri(rank)


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
    return logit(np.clip(scores, _EDGE, 1 - _EDGE))


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
    return _Curve(float(theta[0]), float(theta[1]), -loss(theta) - float(volume))


class AuditedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Probabilities of a classifier, calibrated by a few rows with known labels.

    The probability of the predicted label becomes the confidence of :class:`CheckedCalibration`,
    but at least one over the number of labels, so that labels do not change. The other labels share
    the rest, in the same order. With about 200 or more rows,
    :class:`sklearn.calibration.CalibratedClassifierCV` is an alternative; it has no prior, and is
    worse with fewer rows.

    Parameters
    ----------
    estimator : classifier
        A :class:`sklearn.frozen.FrozenEstimator` around a fitted classifier: all rows of ``fit``
        calibrate it. Any other classifier is fitted to the rows, and calibrated by held-out
        probabilities of the same rows.
    cv : int or splitter, default=5
        Folds of a classifier that is not frozen.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    calibration_ : CheckedCalibration
        Confidence of a label by its probability.
    classes_ : ndarray of shape (n_labels,)
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.utils import shuffle
    >>> from ambilearn.confidence import AuditedClassifier
    >>> X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    >>> model = GaussianNB().fit(X[:900], y[:900])
    >>> audited = AuditedClassifier(FrozenEstimator(model)).fit(X[900:1000], y[900:1000])
    >>> rows = X[1000:]
    >>> [round(float(each.predict_proba(rows).max(axis=1).mean()), 2) for each in (model, audited)]
    [0.99, 0.84]
    >>> round(float(model.score(rows, y[1000:])), 2)
    0.84
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "cv": ["cv_object"],
    }

    def __init__(self, estimator: Estimator, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: Matrix, y: AnyCandidates, *, reference: Any = None) -> Self:
        """Calibrate by rows with known labels.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The checked rows.
        y : array-like of shape (n,)
            Their labels.
        reference : array-like, data frame or sparse matrix of shape (m, d), optional
            The rows that the checked rows were drawn from; by default the checked rows.

        Returns
        -------
        self : object
        """
        self._validate_params()
        check_structure(y, "y")
        y = column_or_1d(to_numpy(y), warn=True)
        check_classification_targets(y)
        check_consistent_length(X, y)
        if isinstance(self.estimator, FrozenEstimator):
            self.estimator_ = self.estimator
            proba = self._scores(X)
        else:
            self.estimator_ = clone(self.estimator).fit(X, y)
            proba = cross_val_predict(self.estimator, X, y, cv=self.cv, method="predict_proba")
        self.classes_ = self.estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if set(self.classes_.tolist()).isdisjoint(y.tolist()):
            raise ValueError(
                f"None of the labels in y, such as {y[0]!r}, is a label of the classifier "
                f"({shorten_list(self.classes_.tolist())}). Use the same labels and the same type."
            )
        right = self.classes_[proba.argmax(axis=1)] == y
        known = None if reference is None else self._scores(reference).max(axis=1)
        self.calibration_ = CheckedCalibration(proba.max(axis=1).clip(0, 1), right, known)
        return self

    def predict_proba(self, X: Matrix) -> NDArray[np.float64]:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n, n_labels)
        """
        check_is_fitted(self)
        proba = self._scores(X)
        rows = np.repeat(np.arange(len(proba)), proba.shape[1])
        top = self.calibration_(proba.max(axis=1))
        return with_top_confidence(proba.ravel(), rows, top).reshape(proba.shape)

    def predict(self, X: Matrix) -> Array:
        """Labels of the classifier.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self.classes_[self._scores(X).argmax(axis=1)]

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        proba = np.asarray(to_numpy(self.estimator_.predict_proba(X)), dtype=np.float64)
        return proba.clip(0, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = deepcopy(get_tags(self.estimator).input_tags)
        return tags
