"""Labels and weights of all scores."""

import numpy as np
import pytest

from ambilearn.metrics import (
    approximated_accuracy,
    covering_rate,
    tolerance_accuracy,
    transductive_accuracy,
)
from ambilearn.metrics.checks import are_probabilities, check_probabilities

MASK = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])
P = np.array([[0.6, 0.4, 0.0], [0.0, 0.0, 1.0], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
H = np.array([[0.2, 0.3, 0.1], [0.5, 0.1, 0.4], [0.9, 0.5, 0.1], [0.3, 0.2, 0.1]])


@pytest.mark.parametrize(
    "score",
    [
        lambda: transductive_accuracy(["1"], [{1, 2}], [[1.0, 0.0]], [[1.0, 0.0]]),
        lambda: covering_rate([{1, 2}, {2}], ["1", "2"]),
        lambda: covering_rate(np.array([[1, 1], [0, 1]]), ["cat", "dog"]),
        lambda: approximated_accuracy([{1, 2}, {2}], np.full((2, 2), 0.5), classes=["1", "2"]),
        lambda: transductive_accuracy(["1", "2"], [{1, 2}, {2}], np.eye(2), np.eye(2)),
    ],
)
def test_labels_that_can_never_be_equal_are_no_score_of_zero(score):
    with pytest.raises(ValueError, match="they can never be equal"):
        score()


@pytest.mark.parametrize(
    "score",
    [
        lambda rows, **options: tolerance_accuracy(rows[0], rows[1], 1, **options),
        lambda rows, **options: transductive_accuracy(*rows[2:], **options)[1],
        lambda rows, **options: covering_rate(rows[3], rows[1], **options),
        lambda rows, **options: approximated_accuracy(rows[3], rows[4], [0, 1, 2], **options),
    ],
    ids=["tolerance", "transductive", "covering", "approximated"],
)
def test_a_row_of_weight_two_counts_as_two_rows(score):
    y_true, y_pred = np.array([0, 2, 1, 0]), np.array([2, 1, 0, 0])
    rows = y_true, y_pred, y_true, MASK, P, H
    weights = [1, 2, 0, 3]
    repeated = [np.repeat(each, weights, axis=0) for each in rows]
    assert score(rows, sample_weight=weights) == pytest.approx(score(repeated))
    assert score(rows, sample_weight=weights) != score(rows)
    with pytest.raises(ValueError, match="Negative"):
        score(rows, sample_weight=[1, 1, 1, -1])


@pytest.mark.parametrize("digits", [3, 16])
def test_rounded_probabilities_are_probabilities(digits):
    """Also those of files with three digits, for every function that takes a table."""
    rows = np.random.default_rng(0).dirichlet(np.ones(5), size=50).round(digits)
    np.testing.assert_array_equal(check_probabilities(rows, "rows"), rows)
    assert are_probabilities(rows).all()
    rows[:, 0] += 0.008
    check_probabilities(rows, "rows")


@pytest.mark.parametrize("row", [[1.2, -0.2], [0.4, 0.4], [3.0, 1.0], [1.011, 0.0]])
def test_rows_that_are_no_distribution_are_named(row):
    fault = "negative entry -0.2 in row 1" if min(row) < 0 else r"Row 1 .* sums to .*1 such row"
    with pytest.raises(ValueError, match=rf"{fault}.*predict_proba"):
        check_probabilities(np.array([[0.5, 0.5], row]), "rows")
    assert are_probabilities(np.array([[0.5, 0.5], row])).tolist() == [True, False]
