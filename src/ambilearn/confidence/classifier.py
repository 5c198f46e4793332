"""A classifier whose probabilities are calibrated by a few checked rows."""

from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
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
from ambilearn.confidence.checked import CheckedCalibration


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
        labels: Array = self.classes_[self._scores(X).argmax(axis=1)]
        return labels

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        proba = np.asarray(to_numpy(self.estimator_.predict_proba(X)), dtype=np.float64)
        return proba.clip(0, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = deepcopy(get_tags(self.estimator).input_tags)
        return tags
