"""Temperatures, calibrations as values, and calibration from candidate sets without true labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import excess_calibration_error
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import PLCL, PLKNN, SURE, PLVoting, as_candidates
from ambilearn.base import PartialLabelClassifier
from ambilearn.confidence import (
    Calibration,
    calibrate_candidates,
    fit_temperature,
    scale_scores,
)
from ambilearn.confidence.calibration import _excess_hits, _fit_to_sets, with_top_confidence

N_LABELS = 10
PROBA = np.array([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]])


def test_scales_probabilities_or_their_logarithms():
    of_values, of_logs = Calibration("", 3.0), Calibration("", 3.0, of_logarithms=True)
    np.testing.assert_array_equal(of_values.scale(PROBA), scale_scores(PROBA, 3.0))
    cubes = PROBA[:2] ** 3
    np.testing.assert_allclose(of_logs.scale(PROBA)[:2], cubes / cubes.sum(1, keepdims=True))
    assert np.isfinite(of_logs.scale(PROBA)).all()


def test_without_a_temperature_there_are_no_confidences():
    assert Calibration("not checked").scale(PROBA) is None


@pytest.mark.parametrize("top", [0.34, 0.5, 0.9, 1.0])
def test_the_most_likely_label_gets_the_confidence(top):
    rows = np.repeat(np.arange(3), 3)
    found = with_top_confidence(PROBA.ravel(), rows, np.full(3, top)).reshape(3, 3)
    np.testing.assert_allclose(found[:, 0], top)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (np.diff(found, axis=1) <= 1e-12).all()  # the order of the labels


def test_the_confidence_is_at_least_that_of_a_guess():
    found = with_top_confidence(np.array([0.6, 0.4, 1.0]), np.array([0, 0, 1]), np.zeros(2))
    np.testing.assert_allclose(found, [0.5, 0.5, 1.0], atol=1e-3)
    assert found[0] > found[1]


def test_equal_probabilities_can_be_raised():
    found = with_top_confidence(np.array([0.5, 0.5]), np.array([0, 0]), np.array([0.8]))
    np.testing.assert_allclose(found, [0.8, 0.2])


@given(st.integers(0, 10**6), st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_rows_of_any_size_stay_distributions_in_the_same_order(seed, sizes):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    parts = [rng.dirichlet(np.ones(size)) for size in sizes]
    top = rng.random(len(sizes))
    found = with_top_confidence(np.concatenate(parts), rows, top)
    for i, before in enumerate(parts):
        after = found[rows == i]
        assert after.sum() == pytest.approx(1)
        assert after.max() == pytest.approx(
            max(top[i], 1 / len(before)) if len(before) > 1 else 1, abs=1e-3
        )
        ranked = np.argsort(-before)
        assert (np.diff(after[ranked]) <= 1e-12).all()


@pytest.fixture(scope="module")
def scores():
    return np.random.default_rng(0).normal(size=(4000, 5))


def test_scaled_scores_are_probabilities_in_the_same_order(scores):
    for b in (0.3, 1.0, 4.0):
        proba = scale_scores(scores, b)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(proba.argsort(axis=1), scores.argsort(axis=1))
        np.testing.assert_allclose(
            proba, np.exp(b * scores) / np.exp(b * scores).sum(1, keepdims=True)
        )


def test_a_label_that_is_ruled_out_has_probability_zero():
    assert scale_scores([[0.0, -np.inf, 0.0]], 3.0).tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.parametrize("true_b", [0.5, 2.0, 7.0])
def test_recovers_the_temperature_that_labels_were_drawn_with(scores, true_b):
    proba = scale_scores(scores, true_b)
    labels = (proba.cumsum(1) < np.random.default_rng(1).random((len(proba), 1))).sum(1)
    assert fit_temperature(scores, np.eye(5)[labels]) == pytest.approx(true_b, rel=0.08)
    assert fit_temperature(scores, proba) == pytest.approx(true_b, rel=1e-3)


def test_the_mean_confidence_is_the_expected_share_of_correct_labels(scores):
    targets = scale_scores(np.random.default_rng(2).normal(size=scores.shape) + scores, 1.0)
    share = targets[np.arange(len(scores)), scores.argmax(axis=1)].mean()
    b = fit_temperature(scores, targets)
    assert scale_scores(scores, b).max(axis=1).mean() == pytest.approx(share, abs=1e-5)


def test_single_rows_with_the_score_zero_for_their_label_have_little_influence(scores):
    proba = scale_scores(scores, 2.0)
    excluded = np.where(np.arange(5) == scores.argmin(axis=1)[:, None], -np.inf, scores)
    assert fit_temperature(excluded, proba) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("targets", [[[1.0]], [[1.0, 0.0]] * 2, [[np.nan, 1.0]]])
def test_rejects_targets(targets):
    with pytest.raises(ValueError, match="scores and targets must"):
        fit_temperature([[0.4, 0.6]], targets)


@pytest.mark.parametrize("row", [[np.nan, 0.0], [np.inf, 0.0], [-np.inf, -np.inf]])
def test_rejects_scores_that_are_not_finite(row):
    with pytest.raises(ValueError, match="must be finite"):
        fit_temperature([row], [[1.0, 0.0]])


@pytest.mark.parametrize("gap", [20, 25, 700])
def test_scores_that_are_far_too_high_get_the_lower_bound(gap):
    """The confidences are one for almost all temperatures."""
    scores, targets = [[0, -gap]] * 4, [[1, 0], [1, 0], [1, 0], [0, 1]]
    assert fit_temperature(scores, targets, bounds=(0.1, 200)) == pytest.approx(
        max(0.1, np.log(3) / gap)
    )


def test_scores_that_are_far_too_low_get_the_upper_bound():
    assert fit_temperature([[0, -1e-9]] * 4, [[1, 0]] * 4) == 200


def make_sets(y, seed=0, share_single=0.2):
    """Each further label is a candidate with probability .3, except in some rows."""
    rng = np.random.default_rng(seed)
    mask = rng.random((len(y), N_LABELS)) < 0.3
    mask[rng.random(len(y)) < share_single] = False
    mask[np.arange(len(y)), y] = True
    return as_candidates(mask, classes=np.arange(N_LABELS))


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:620]
    X = StandardScaler().fit_transform(X[rows])
    return X[:220], make_sets(y[rows[:220]]), y[rows[:220]], X[220:], y[rows[220:]]


@pytest.fixture(scope="module")
def fitted(data):
    return PLCL().fit(data[0], data[1])


@pytest.fixture(scope="module")
def calibration(data, fitted):
    return calibrate_candidates(fitted, data[0], data[1])


def test_scores_that_are_too_low_are_raised(data, fitted, calibration):
    _, sets, y, X_new, y_new = data
    assert "too low on the" in calibration.reason
    assert calibration.inverse_temperature > 1
    proba = fitted.predict_proba(X_new)
    scaled = calibration.scale(proba)
    hits = proba.argmax(axis=1) == y_new
    before, after = (excess_calibration_error(hits, p.max(axis=1)) for p in (proba, scaled))
    assert before > 0.1
    assert after < 0.04
    np.testing.assert_array_equal(scaled.argmax(axis=1), proba.argmax(axis=1))
    learned = fitted.label_distributions_
    cleaned = np.zeros(learned.shape)
    cleaned[np.repeat(np.arange(len(sets)), sets.sizes), sets.labels] = calibration.cleaned
    np.testing.assert_allclose(cleaned.sum(axis=1), 1)
    np.testing.assert_array_equal(cleaned.argmax(axis=1), learned.argmax(axis=1))
    hits = learned.argmax(axis=1) == y
    before, after = (excess_calibration_error(hits, p.max(axis=1)) for p in (learned, cleaned))
    assert after < before
    assert after < 0.03


def test_the_method_stays_as_it_is(data, fitted):
    before = clone(fitted).fit(data[0], data[1])
    np.testing.assert_array_equal(fitted.label_distributions_, before.label_distributions_)
    np.testing.assert_array_equal(fitted.predict_proba(data[3]), before.predict_proba(data[3]))


def test_few_single_candidates_change_nothing_and_take_no_fit(data, fitted):
    sets = make_sets(data[2], share_single=0.0)
    fits = []
    found = calibrate_candidates(fitted, data[0], sets, progress=fits.append)
    n = int((sets.sizes == 1).sum())
    assert n < 20
    assert found.reason == f"only {n} rows with a single candidate, and 20 are needed"
    assert (found.inverse_temperature, found.cleaned, fits) == (None, None, [])


def test_rows_that_a_person_corrected_do_not_count(data, fitted):
    single = np.flatnonzero(data[1].sizes == 1)
    found = calibrate_candidates(fitted, data[0], data[1], exclude=single[19:])
    assert found.reason.startswith("only 19 rows with a single candidate")


def test_the_reason_does_not_name_candidates_if_every_row_has_one(data):
    X, y = data[0][:60], data[2][:60]
    found = calibrate_candidates(PLKNN().fit(X, y), X, y, exclude=range(41))
    assert found.reason == "only 19 rows, and 20 are needed"
    found = calibrate_candidates(PLKNN().fit(X, y), X, y)
    assert " the 60 rows" in f" {found.reason}"
    assert "candidate" not in found.reason


class Overconfident(PartialLabelClassifier):
    """Nearest mean of the candidates' rows, far too sure of it."""

    def _fit(self, rows, candidates):
        mask = candidates.sets.to_mask() / candidates.sizes[:, None]
        self.means_ = (mask.T @ rows.X) / mask.sum(axis=0)[:, None]
        self.label_distributions_ = mask

    def _scores(self, X):
        return -((X[:, None] - self.means_) ** 2).sum(axis=2)

    def _confidences(self, scores):
        return np.eye(len(self.means_))[scores.argmax(axis=1)] * 0.98 + 0.002


@pytest.mark.parametrize("row", [1000, -1, 1.5])
def test_rejects_rows_to_exclude_that_do_not_exist(data, fitted, row):
    with pytest.raises(ValueError, match=f"exclude has {row}, which is not a row"):
        calibrate_candidates(fitted, data[0], data[1], exclude=[0, row])


def test_scores_that_are_too_high_are_left_alone(data):
    """Which labels then share the rest is not known; and MSRCv2 would get worse."""
    model = Overconfident().fit(data[0], data[1])
    fits = []
    found = calibrate_candidates(model, data[0], data[1], progress=fits.append)
    assert "only raises scores, and they are not too low on the" in found.reason
    assert found.scale(model.predict_proba(data[3])) is None
    assert len(fits) == 2


def test_excess_hits_are_standard_errors():
    proba = np.tile([0.5, 0.5 - 1e-9, 1e-9], (100, 1))
    assert _excess_hits(proba, np.zeros(100, int)) == pytest.approx(10)
    assert _excess_hits(proba, np.r_[np.zeros(50, int), np.ones(50, int)]) == pytest.approx(0)


def test_an_ensemble_is_calibrated_by_its_kernel_member(data):
    """In closed form, without a fit of the ensemble."""
    X, sets = data[0][:200], data[1][:200]
    said = []
    model = PLVoting([("knn", PLKNN()), ("sure", SURE())]).fit(X, sets)
    found = calibrate_candidates(model, X, sets, progress=said.append)
    assert said == ["predicting every row from the others"]
    assert found.inverse_temperature > 1
    hits = model.predict(data[3]) == data[4]
    proba = model.predict_proba(data[3])
    before, after = (
        excess_calibration_error(hits, each.max(axis=1)) for each in (proba, found.scale(proba))
    )
    assert after < before - 0.05


def test_pipelines_and_labels_that_a_fold_does_not_have(data):
    """A label of one row is unknown to the models that are fitted without this row."""
    X, sets = data[0][:120], data[1][:120].to_sets()
    sets[0] = {99}
    model = make_pipeline(StandardScaler(), PLKNN()).fit(X, sets)
    found = calibrate_candidates(model, X, sets)
    assert found.inverse_temperature is not None
    assert len(found.cleaned) == sum(map(len, sets))


def test_sparse_masks(data, fitted, calibration):
    model = PLCL().fit(data[0], data[1].to_sparse().astype(bool))
    assert issparse(model.label_distributions_)
    found = calibrate_candidates(model, data[0], data[1])
    np.testing.assert_allclose(found.cleaned, calibration.cleaned)


def test_rejects_classifiers_without_candidate_sets(data):
    model: BaseEstimator = LogisticRegression()
    with pytest.raises(TypeError, match="LogisticRegression does not learn from candidate sets"):
        calibrate_candidates(model, data[0], data[1])


def test_rejects_a_model_that_is_not_fitted_or_to_other_rows(data, fitted):
    X, sets = data[:2]
    with pytest.raises(NotFittedError):
        calibrate_candidates(clone(fitted), X, sets)
    with pytest.raises(ValueError, match="pass the rows and the candidate sets of the fit"):
        calibrate_candidates(fitted, X[:50], sets[:50])


def test_the_order_of_the_labels_is_that_of_the_model():
    X, y = load_digits(n_class=3, return_X_y=True)
    sets = [{each} if i % 2 else {each, (each + 1) % 3} for i, each in enumerate(y.tolist())]
    model = PLKNN().fit(X, as_candidates(sets, classes=[2, 0, 1]))
    expected = calibrate_candidates(model, X, as_candidates(sets, classes=[2, 0, 1]))
    found = calibrate_candidates(model, X, sets)
    assert found.inverse_temperature == expected.inverse_temperature != 1
    np.testing.assert_array_equal(found.cleaned, expected.cleaned)
    with pytest.raises(ValueError, match="exclude has True, which is not a row"):
        calibrate_candidates(model, X, sets, exclude=[True])


def test_one_set_of_held_out_outputs_needs_no_fit_of_a_kernel_method(data, fitted):
    said = []
    found = calibrate_candidates(fitted, data[0], data[1], progress=said.append)
    assert said == ["predicting every row from the others"]
    again = calibrate_candidates(make_pipeline(StandardScaler(), PLCL()).fit(*data[:2]), *data[:2])
    assert again.inverse_temperature == pytest.approx(found.inverse_temperature, rel=0.05)


def test_where_no_row_contradicts_certainty_the_prior_limits_it():
    """Without it, the temperature of well separated rows was at its bound of 200."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = y[:, None] * 3 + rng.normal(size=(60, 2)) / 4
    sets = as_candidates([{int(each)} if i < 40 else {0, 1} for i, each in enumerate(y)])
    found = calibrate_candidates(PLKNN().fit(X, sets), X, sets)
    assert found.inverse_temperature is None or found.inverse_temperature < 30
    proba = np.array([[0.6, 0.4]] * 100)
    assert 1 < _fit_to_sets(proba, as_candidates([0] * 100, classes=[0, 1])) < 40
