"""Accuracies against cases computed by hand, and calibration errors against their definition."""

import numpy as np
import pytest
from scipy import sparse

from ambilearn import as_candidates
from ambilearn.metrics import expected_calibration_error, tolerance_accuracy, transductive_accuracy

SETS = [{"a", "b"}, {"c"}, {"b", "c"}, {"a"}]
MASK = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])
P = np.array([[0.6, 0.4, 0.0], [0.0, 0.0, 1.0], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
H = np.array([[0.2, 0.3, 0.1], [0.5, 0.1, 0.4], [0.9, 0.5, 0.1], [0.3, 0.2, 0.1]])


@pytest.mark.parametrize(
    ("tolerance", "expected"), [(0, 1 / 6), (2.5, 2 / 6), (3, 4 / 6), (5, 5 / 6), (100, 1.0)]
)
def test_tolerance_accuracy(tolerance, expected):
    y_true = [20, 30, 40, 50, 60, 70]
    y_pred = [20, 31, 43, 47, 65, 90]
    assert tolerance_accuracy(y_true, y_pred, tolerance) == pytest.approx(expected)


def test_tolerance_in_positions_of_an_order():
    order = ["xs", "s", "m", "l", "xl"]
    assert tolerance_accuracy(["xs", "m", "l"], ["s", "xl", "l"], 1, classes=order) == 2 / 3
    ages = [10, 20, 40, 80]  # 40 → 80 is one step, 10 → 40 two
    assert tolerance_accuracy([40, 10], [80, 40], 1, classes=ages) == 0.5


def test_tolerance_of_small_unsigned_numbers():
    assert tolerance_accuracy(np.array([1], np.uint8), np.array([3], np.uint8), 3) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["b"], 1), "pass their order as classes="),
        ((["a"], ["z"], 1, ["a", "b"]), "'z' is not among the classes"),
        (([1, 2], [1], 1), "2 true but 1 predicted"),
        (([], [], 1), "0 true"),
        (([[1]], [1], 1), "one label for each row"),
    ],
)
def test_tolerance_accuracy_rejects(arguments, message):
    with pytest.raises(ValueError, match=message):
        tolerance_accuracy(*arguments)


def test_transductive_accuracy_in_three_readings():
    """Confidences: a c c a. Outputs within the set: b c b a. Outputs over all: b a a a."""
    found = transductive_accuracy(["a", "c", "b", "a"], SETS, P, H)
    assert found == (0.75, 0.75, 0.25)
    assert found.confidences == 0.75
    assert found.outputs_in_set == 0.75
    assert found.outputs == 0.25
    found = transductive_accuracy(["a", "c", "c", "a"], SETS, P, H)
    assert found == (1.0, 0.5, 0.25)


def test_transductive_accuracy_takes_masks_and_sparse_confidences():
    plain = transductive_accuracy(["a", "c", "b", "a"], SETS, P, H)
    assert plain == transductive_accuracy([0, 2, 1, 0], MASK, sparse.csr_array(P), H)
    assert plain == transductive_accuracy(
        ["a", "c", "b", "a"], sparse.csr_array(MASK), P, H, classes=["a", "b", "c"]
    )


def test_negative_outputs_do_not_lose_to_labels_outside_the_set():
    outputs = [[-3.0, -2.0, 5.0]]
    assert transductive_accuracy([1], [{0, 1}], [[0.5, 0.5, 0]], outputs, [0, 1, 2]) == (0, 1, 0)


def test_one_column_of_outputs_for_two_labels():
    P = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    sets = [{"a", "b"}, {"a"}, {"b"}]
    assert transductive_accuracy(["b", "a", "b"], sets, P, [2.0, -1.0, -0.5]) == (2 / 3, 1, 2 / 3)


@pytest.mark.parametrize(
    ("confidences", "outputs", "message"),
    [
        (P[:2], H, r"confidences must have the shape \(4, 3\)"),
        (P, H[:, :2], r"outputs must have the shape \(4, 3\)"),
        (P, np.where(H == 0.9, np.nan, H), "outputs contains NaN in row 2"),
    ],
)
def test_transductive_accuracy_rejects(confidences, outputs, message):
    with pytest.raises(ValueError, match=message):
        transductive_accuracy(["a", "c", "b", "a"], SETS, confidences, outputs)


def test_candidate_sets_have_the_columns_that_are_named():
    rows = [{"a", "b"}, {"b", "c"}]
    P = [[0, 0.4, 0.6], [0.7, 0.3, 0]]
    for y in (rows, as_candidates(rows)):
        found = transductive_accuracy(["a", "c"], y, P, P, classes=["c", "b", "a"])
        assert found == (1.0, 1.0, 1.0)


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
