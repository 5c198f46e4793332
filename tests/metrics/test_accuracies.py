"""Accuracies against cases computed by hand."""

import numpy as np
import pytest
from scipy import sparse

from ambilearn import as_candidates
from ambilearn.metrics import (
    tolerance_accuracy,
    transductive_accuracy,
)

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
