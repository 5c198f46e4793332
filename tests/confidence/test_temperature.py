"""Temperature scaling: recovers a known temperature, and keeps the order of the labels."""

import numpy as np
import pytest

from ambilearn.confidence import fit_temperature, scale_scores
from ambilearn.confidence.temperature import search_temperature


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


def test_search_stays_within_its_bounds():
    assert search_temperature(lambda b: -b, (0.5, 3.0)) == pytest.approx(3.0, rel=1e-4)
    assert search_temperature(lambda b: b, (0.5, 3.0)) == pytest.approx(0.5, rel=1e-4)


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
