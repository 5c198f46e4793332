"""A classifier calibrated by a few rows, alone and beside scikit-learn's own calibration."""

import numpy as np
import pytest
from problems import excess_calibration_error
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ambilearn import PLKNN
from ambilearn.confidence import AuditedClassifier


@parametrize_with_checks([AuditedClassifier(GaussianNB())])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X, y


@pytest.fixture(scope="module")
def models(data):
    X, y = data
    sets = [{label, (label + i) % 10} for i, label in enumerate(y[:600].tolist())]
    return {"bayes": GaussianNB().fit(X[:600], y[:600]), "knn": PLKNN().fit(X[:600], sets)}


@pytest.mark.parametrize("name", ["bayes", "knn"])
def test_a_frozen_classifier_is_calibrated_and_keeps_its_labels(data, models, name):
    X, y = data
    model, new = models[name], slice(700, None)
    audited = AuditedClassifier(FrozenEstimator(model))
    audited.fit(X[600:700], y[600:700], reference=X[600:])
    before, after = (each.predict_proba(X[new]) for each in (model, audited))
    np.testing.assert_array_equal(audited.predict(X[new]), model.classes_[before.argmax(axis=1)])
    np.testing.assert_array_equal(after.argmax(axis=1), before.argmax(axis=1))
    np.testing.assert_allclose(after.sum(axis=1), 1)
    hits = model.classes_[before.argmax(axis=1)] == y[new]
    error = [excess_calibration_error(hits, p.max(axis=1)) for p in (before, after)]
    assert error[1] < 0.04
    assert error[1] < error[0]


def test_checked_rows_may_lack_labels(data, models):
    X, y = data
    rows = np.flatnonzero(y[600:700] < 5) + 600
    audited = AuditedClassifier(FrozenEstimator(models["knn"])).fit(X[rows], y[rows])
    assert audited.predict_proba(X[:3]).shape == (3, 10)


def test_scikit_learns_calibration_takes_our_methods(data, models):
    """With enough checked rows, as the guide says."""
    X, y = data
    plain = CalibratedClassifierCV(FrozenEstimator(models["knn"]), method="sigmoid")
    plain.fit(X[600:1000], y[600:1000])
    assert plain.score(X[1000:], y[1000:]) > 0.8


def test_rejects_labels_of_another_type_or_number(data, models):
    X, y = data
    audited = AuditedClassifier(FrozenEstimator(models["bayes"]))
    with pytest.raises(ValueError, match="None of the labels in y, such as"):
        audited.fit(X[600:650], y[600:650].astype(str))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        audited.fit(X[600:650], y[600:601])


def test_a_classifier_without_probabilities_is_rejected():
    with pytest.raises(ValueError, match=r"'estimator' parameter .* 'predict_proba'"):
        AuditedClassifier(LinearSVC()).fit([[0.0], [1.0]] * 5, [0, 1] * 5)
