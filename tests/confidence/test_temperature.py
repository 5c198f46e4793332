"""Temperature scaling: recovers a known temperature, and keeps the order of the labels."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

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


def test_the_derivative_vanishes_at_the_minimum(scores):
    targets = scale_scores(np.random.default_rng(2).normal(size=scores.shape) + scores, 1.0)
    b = fit_temperature(scores, targets)

    def loss(at):
        return -(targets * np.log(scale_scores(scores, at[0]))).mean()

    assert abs(approx_fprime([b], loss)[0]) < 1e-5


def test_search_stays_within_its_bounds():
    assert search_temperature(lambda b: -b, (0.5, 3.0)) == pytest.approx(3.0, rel=1e-4)
    assert search_temperature(lambda b: b, (0.5, 3.0)) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("targets", [[[1.0]], [[1.0, 0.0]] * 2, [[np.nan, 1.0]]])
def test_refuses_targets(targets):
    with pytest.raises(ValueError, match="scores and targets must"):
        fit_temperature([[0.4, 0.6]], targets)
