"""Calibrations as values, and probabilities with a given confidence of the most likely label."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn.confidence import Calibration, scale_scores
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
