"""Confidences from a few checked rows, of scores and of classifiers."""

import numpy as np
import pytest
from problems import excess_calibration_error
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ambilearn import PLKNN
from ambilearn.confidence import (
    AuditedClassifier,
    CheckedCalibration,
    draw_audit,
    estimate_share_right,
)
from ambilearn.confidence.checked import _fit_curve


def population(distort, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.beta(3, 1.2, size=n)
    return distort(truth), rng.random(n) < truth


DISTORTIONS = {
    "right already": lambda p: p,
    "too high": lambda p: expit(1.5 + logit(p)),
    "too low": lambda p: expit(-1 + 0.7 * logit(p)),
    "too extreme": lambda p: expit(3 * logit(p)),
    "no probability": lambda p: 0.2 + 0.01 * p,
}


@pytest.mark.parametrize("kind", DISTORTIONS)
def test_a_hundred_rows_calibrate_any_monotone_score(kind):
    score, right = population(DISTORTIONS[kind])
    excess = []
    for seed in range(10):
        checked = draw_audit(score, 100, seed).rows
        rest = np.delete(np.arange(len(score)), checked)
        calibration = CheckedCalibration(score[checked], right[checked], score)
        excess.append(excess_calibration_error(right[rest], calibration(score[rest]), n_draws=20))
    assert np.mean(excess) < 0.045  # the standard error of the share of correct labels is .045


def test_one_checked_row_leaves_good_scores_nearly_alone():
    score = np.linspace(0.05, 0.95, 50)
    found = CheckedCalibration([0.6], [1], score)(score)
    assert np.abs(found - score).max() < 0.15


def test_confidences_rise_with_the_score():
    score, right = population(DISTORTIONS["too high"])
    found = CheckedCalibration(score[:200], right[:200])(np.sort(score))
    assert (np.diff(found) >= -1e-12).all()
    assert ((found > 0) & (found < 1)).all()


def test_fitted_curve_is_at_the_maximum_of_the_posterior():
    """The gradient vanishes: residuals balance the prior."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=40), (rng.random(40) < 0.6).astype(float)
    mean, scale = np.array([0.0, 1.0]), np.array([0.3, 0.3])
    found = _fit_curve(x, y, mean, scale)
    theta = np.array([found.intercept, found.slope])
    residual = y - expit(theta[0] + theta[1] * x)
    np.testing.assert_allclose([residual.sum(), residual @ x], (theta - mean) / scale**2, atol=1e-3)


def test_saturated_scores():
    found = CheckedCalibration([1.0] * 30, [1] * 24 + [0] * 6, [1.0] * 500)([1.0])
    assert found[0] == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(
    ("score", "right", "message"),
    [
        ([0.5, 1.5], [1, 0], "got 1.5"),
        ([0.5, np.nan], [1, 0], "got nan"),
        ([[0.5]], [1], "one number between 0 and 1 for each row"),
        ([0.5, 0.6], [1], "each of the 2 checked rows"),
        ([0.5], [0.5], "truth value"),
        ([], [], "at least one"),
    ],
)
def test_rejects(score, right, message):
    with pytest.raises(ValueError, match=message):
        CheckedCalibration(score, right)


def test_masked_entries_are_rejected():
    masked = np.ma.array([1, 0, 0], mask=[0, 1, 1])
    uses = {
        "right": [
            lambda: estimate_share_right(masked, 10),
            lambda: CheckedCalibration([0.5] * 3, masked),
        ],
        "score": [lambda: CheckedCalibration(masked, [1, 0, 0]), lambda: draw_audit(masked, 2)],
        "y": [lambda: AuditedClassifier(GaussianNB()).fit([[0.0]] * 3, masked)],
    }
    for name, functions in uses.items():
        for use in functions:
            with pytest.raises(ValueError, match=f"^{name} is a masked array with 2 of 3"):
                use()


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
