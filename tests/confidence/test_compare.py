"""Comparison of two labelings by the same checked rows."""

from math import inf

import numpy as np
import pytest

from ambilearn.confidence import compare_labels


def draw(rng, n, p_first, p_second):
    """Rows in which only the first label is correct, only the second, or both."""
    kind = rng.choice(3, size=n, p=[p_first, p_second, 1 - p_first - p_second])
    return np.where(kind == 1, "no", "yes"), np.where(kind == 0, "no", "yes"), np.full(n, "yes")


@pytest.mark.parametrize(("n", "p_first", "p_second"), [(30, 0.1, 0.2), (100, 0.02, 0.05)])
def test_the_interval_covers_the_true_difference(n, p_first, p_second):
    rng = np.random.default_rng(0)
    found = [compare_labels(*draw(rng, n, p_first, p_second)) for _ in range(2000)]
    covered = np.mean([each.low <= p_second - p_first <= each.high for each in found])
    assert 0.935 < covered < 0.99
    again = [compare_labels(*draw(rng, n, p_first, p_second), level=0.5) for _ in range(2000)]
    assert np.mean([each.low <= p_second - p_first <= each.high for each in again]) < 0.65


def test_rows_on_which_both_agree_only_dilute():
    first, second, truth = draw(np.random.default_rng(0), 60, 0.05, 0.3)
    few = compare_labels(first, second, truth)
    many = compare_labels(*(np.r_[each, ["yes"] * 540] for each in (first, second, truth)))
    assert (few.only_first, few.only_second) == (many.only_first, many.only_second)
    assert many.difference == pytest.approx(few.difference / 10)
    assert few.decided
    assert many.decided


def test_the_order_changes_the_sign_only():
    first, second, truth = draw(np.random.default_rng(1), 40, 0.1, 0.15)
    one, other = compare_labels(first, second, truth), compare_labels(second, first, truth)
    assert one.difference == -other.difference
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_rows_that_would_decide():
    truth = ["yes"] * 60
    first, second = ["no"] * 4 + truth[4:], truth[:58] + ["no"] * 2
    found = compare_labels(first, second, truth)
    assert not found.decided
    more = 1 + found.n_to_decide / 60
    times = int(np.ceil(more * 1.1))
    assert compare_labels(first * times, second * times, truth * times).decided
    less = int(more * 0.7)
    assert not compare_labels(first * less, second * less, truth * less).decided
    assert compare_labels(first, first, truth).n_to_decide == inf
    sure = compare_labels(["no"] * 20, ["yes"] * 20, ["yes"] * 20)
    assert sure.n_to_decide == 0


def test_all_rows_checked_leave_no_doubt():
    found = compare_labels(["a", "b", "b"], ["a", "a", "b"], ["a", "a", "b"], n_rows=3)
    assert (found.low, found.high) == pytest.approx((1 / 3, 1 / 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "0 rows were checked"),
        ((["a"], ["a", "b"], ["a"]), r"shapes \(1,\), \(2,\) and \(1,\)"),
        ((["a", "a"], ["a", "a"], ["a", "b"], 1), "2 rows were checked of 1"),
    ],
)
def test_errors(arguments, message):
    labels, n_rows = arguments[:3], (*arguments, None)[3]
    with pytest.raises(ValueError, match=message):
        compare_labels(*labels, n_rows=n_rows)
    with pytest.raises(ValueError, match="level"):
        compare_labels(["a"], ["a"], ["a"], level=95)
