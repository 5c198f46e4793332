"""Calibrations as values, and temperature scaling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn.confidence import Calibration, fit_temperature, scale_scores
from ambilearn.confidence.calibration import with_top_confidence

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
