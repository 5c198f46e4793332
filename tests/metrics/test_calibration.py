"""Calibration errors against their definition."""

import numpy as np
import pytest

from ambilearn.metrics import expected_calibration_error


def literal_ece(correct, confidence, n_bins):
    """As defined, for distinct confidences and bins that divide the rows."""
    order = np.argsort(confidence)
    parts = np.array_split(order, n_bins)
    return sum(
        len(part) / len(order) * abs(np.mean(confidence[part]) - np.mean(correct[part]))
        for part in parts
    )


def test_calibration_error_needs_a_bin():
    with pytest.raises(ValueError, match="n_bins must be at least 1; got 0"):
        expected_calibration_error([1, 0], [0.5, 0.5], n_bins=0)


@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_calibration_error_as_defined(n_bins):
    rng = np.random.default_rng(0)
    confidence = rng.random(200)
    correct = rng.random(200) < confidence**2
    found = expected_calibration_error(correct, confidence, n_bins=n_bins)
    assert found == pytest.approx(literal_ece(correct, confidence, n_bins))


def test_calibration_error_of_equal_confidences_does_not_depend_on_their_order():
    """All rows have the same confidence: the error is that of the mean, in any order."""
    correct = np.array([0] * 30 + [1] * 70)
    for rows in (np.arange(100), np.random.default_rng(0).permutation(100)):
        assert expected_calibration_error(correct[rows], [0.7] * 100) == pytest.approx(0)
        assert expected_calibration_error(correct[rows], [0.5] * 100) == pytest.approx(0.2)


def test_calibration_error_with_more_bins_than_rows():
    assert expected_calibration_error([1, 0], [0.75, 0.5]) == pytest.approx(0.375)


def test_weights_of_the_calibration_error():
    rng = np.random.default_rng(1)
    confidence, correct = rng.random(50), rng.random(50) < 0.5
    plain = expected_calibration_error(correct, confidence, n_bins=1)
    ones = expected_calibration_error(correct, confidence, n_bins=1, sample_weight=np.ones(50))
    assert ones == plain
    weights = rng.integers(0, 4, size=50)
    weighted = expected_calibration_error(correct, confidence, n_bins=5, sample_weight=weights)
    assert weighted != plain
    repeated = (np.repeat(values, weights) for values in (correct, confidence))
    # A row of weight 3 lies in one bin, while its repetitions may lie in two.
    assert weighted == pytest.approx(expected_calibration_error(*repeated, n_bins=5), abs=0.05)
    kept = weights > 0
    assert expected_calibration_error(
        correct[kept], confidence[kept], sample_weight=weights[kept], n_bins=5
    ) == pytest.approx(weighted)


@pytest.mark.parametrize(
    ("correct", "confidence", "message"),
    [
        ([1, 0], [0.5], "There are 1 confidences, but correct has 2 rows"),
        ([1, 0], [0.5, 1.5], "in row 1 it is 1.5"),
        ([1, 0], [0.5, np.nan], "in row 1 it is nan"),
        ([1, 2], [0.5, 0.5], "correct must be between 0 and 1"),
        ([], [], r"shape \(n_rows,\)"),
        ([[1]], [[0.5]], r"shape \(n_rows,\)"),
    ],
)
def test_calibration_error_rejects(correct, confidence, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(correct, confidence)


def test_weighted_error_does_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = 8
        correct, confidence = rng.integers(2, size=n), rng.choice([0.5, 0.75, 0.9], n)
        weights, order = rng.integers(1, 4, size=n), rng.permutation(n)
        found = [
            expected_calibration_error(
                correct[rows], confidence[rows], n_bins=3, sample_weight=weights[rows]
            )
            for rows in (np.arange(n), order)
        ]
        assert found[0] == pytest.approx(found[1])
