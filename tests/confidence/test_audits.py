"""Rows of an audit, the interval of the share of correct labels, and compared labelings."""

from itertools import pairwise
from math import inf

import numpy as np
import pytest
from scipy.stats import binomtest

from ambilearn.confidence import compare_labels, draw_audit, estimate_share_right


@pytest.mark.parametrize("n_rows", [1, 7, 50, 123, 200])
@pytest.mark.parametrize("n_table", [200, 487])
def test_drawn_rows_are_distinct_and_proportional(n_rows, n_table):
    score = np.random.default_rng(0).normal(size=n_table)
    sample = draw_audit(score, n_rows)
    assert len(set(sample.rows.tolist())) == n_rows
    sizes = sample.stratum_sizes
    assert len(sizes) == min(10, max(1, n_rows // 5))
    assert sizes.max() - sizes.min() <= 1
    drawn = np.bincount(sample.strata[sample.rows], minlength=len(sizes))
    assert (np.abs(drawn - n_rows * sizes / n_table) <= 1.5).all()
    for h in range(len(sizes) - 1):
        assert score[sample.strata == h].max() <= score[sample.strata == h + 1].min()


def test_every_row_is_equally_likely():
    """Also among equal scores, and if rows and strata do not divide."""
    score = np.r_[np.zeros(13), np.linspace(0.1, 1, 20)]
    drawn = np.concatenate([draw_audit(score, 10, seed).rows for seed in range(2000)])
    share = np.bincount(drawn, minlength=33) / 2000
    assert np.abs(share - 10 / 33).max() < 0.05


def test_pairs_of_a_stratum_are_drawn_independently():
    """No pair of rows is drawn together always or never, as neighbors in a list would be."""
    score, together = np.arange(100.0), np.zeros((100, 100))
    for seed in range(1500):
        rows = draw_audit(score, 50, seed).rows
        together[np.ix_(rows, rows)] += 1 / 1500
    within = together[:10, :10][~np.eye(10, dtype=bool)]
    assert np.abs(within - (5 / 10) * (4 / 9)).max() < 0.06


def test_a_larger_audit_includes_a_smaller_one():
    score = np.random.default_rng(0).random(300)
    drawn = [set(draw_audit(score, n, 3).rows.tolist()) for n in (7, 25, 100, 160, 300)]
    for smaller, larger in pairwise(drawn):
        assert smaller < larger


def test_merged_strata():
    sample = draw_audit(np.linspace(0, 1, 200), 50)
    for n_checked, sizes in [(50, [20] * 10), (60, [20] * 10), (20, [60, 40] * 2), (2, [200])]:
        merged = sample.merge_strata(n_checked)
        assert merged.stratum_sizes.tolist() == sizes
        assert (np.diff(merged.strata) >= 0).all()
        np.testing.assert_array_equal(merged.rows, sample.rows)


def test_more_rows_than_the_table_has():
    assert sorted(draw_audit([0.5, 0.1, 0.9], 10).rows) == [0, 1, 2]


def test_same_seed_same_rows():
    score = np.linspace(0, 1, 100)
    np.testing.assert_array_equal(draw_audit(score, 20, 5).rows, draw_audit(score, 20, 5).rows)
    assert set(draw_audit(score, 20, 5).rows) != set(draw_audit(score, 20, 6).rows)


@pytest.mark.parametrize("score", [[], [[1.0]], [0.5, np.nan]])
def test_rejects_scores(score):
    with pytest.raises(ValueError, match="one finite number for each row"):
        draw_audit(score, 1)


def test_rejects_no_rows():
    with pytest.raises(ValueError, match="at least one row, not 0"):
        draw_audit([0.1, 0.2], 0)


def wrong_rows(kind, share, n_rows):
    """Numbers of wrong labels in ten strata of equal size, the lowest score first."""
    at_most = n_rows // 10
    profile = {"flat": np.ones(10), "slope": np.linspace(2, 0, 10), "lowest": np.eye(10)[0] * 10}
    return np.minimum(np.round(profile[kind] * (1 - share) * at_most), at_most).astype(int)


@pytest.mark.parametrize("kind", ["flat", "slope", "lowest"])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
def test_interval_covers_the_share(kind, share):
    """400 audits of 50 rows; a coverage of 95 % has a standard error of 1.1 %."""
    rng = np.random.default_rng(0)
    n_rows = 1000
    wrong = wrong_rows(kind, share, n_rows)
    truth = 1 - wrong.sum() / n_rows
    drawn = rng.hypergeometric(wrong, n_rows // 10 - wrong, 5, size=(400, 10))
    strata = np.repeat(np.arange(10), 5)
    covered = 0
    for counts in drawn:
        right = (np.arange(5) >= counts[:, None]).ravel()
        found = estimate_share_right(right, [n_rows // 10] * 10, strata)
        covered += found.low - 1e-9 <= truth <= found.high + 1e-9
    assert covered / 400 > 0.93


def test_without_strata_it_is_the_exact_interval_up_to_students_t():
    found = estimate_share_right([1] * 450 + [0] * 50, 10**9)
    exact = binomtest(450, 500).proportion_ci(method="exact")
    assert found.share == 0.9
    assert found.low == pytest.approx(exact.low, abs=5e-4)
    assert found.high == pytest.approx(exact.high, abs=5e-4)


def test_strata_with_different_shares_make_it_narrower():
    right, strata = [0] * 20 + [1] * 20, [0] * 20 + [1] * 20
    informed = estimate_share_right(right, [500, 500], strata)
    plain = estimate_share_right(right, 1000)
    assert informed.share == plain.share == 0.5
    assert informed.high - informed.low < 0.7 * (plain.high - plain.low)


def test_estimate_weighs_strata_by_their_size():
    assert estimate_share_right([1, 1, 0, 0], [900, 100], [0, 0, 1, 1]).share == pytest.approx(0.9)


def test_unequal_sampling_makes_it_wider():
    """Two rows of a stratum with nine tenths of the table: their share is all that counts."""
    right = [1, 0] + [1, 0] * 20
    found = estimate_share_right(right, [900, 100], [0, 0] + [1] * 40)
    assert found.high - found.low > 0.8


def test_all_rows_checked():
    found = estimate_share_right([1, 0, 1, 1], 4)
    assert (found.share, found.low, found.high, found.n_rows_to_halve) == (0.75, 0.75, 0.75, 0)


@pytest.mark.parametrize(("right", "low", "high"), [([1] * 30, 0.85, 1.0), ([0] * 30, 0.0, 0.15)])
def test_all_right_and_all_wrong(right, low, high):
    found = estimate_share_right(right, [200] * 5, np.repeat(np.arange(5), 6))
    assert found.share == right[0]
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.04)
    assert found.high - found.low > 0.08


def test_stratum_without_a_checked_row_counts_as_the_others():
    assert estimate_share_right([1, 0], [10, 10], [0, 0]).share == pytest.approx(0.5)


def test_interval_with_neighboring_strata_without_a_checked_row():
    """The four lowest of ten strata are not checked, and have few correct labels."""
    strata = np.repeat(np.arange(4, 10), 5)
    right = np.concatenate([np.arange(5) < n for n in (3, 4, 4, 5, 5, 5)])
    found = estimate_share_right(right, [60] * 10, strata)
    assert found.low < 0.6 * right.mean() + 0.4 * 0.2 < found.share
    one = estimate_share_right(right, [240] + [60] * 6, strata - 3)
    assert found.share == pytest.approx(one.share)
    assert found.high - found.low == pytest.approx(one.high - one.low, rel=0.05)


def test_expected_share_of_a_stratum_without_a_checked_row():
    right, strata = [1, 0, 1, 1], [0, 0, 2, 2]
    default = estimate_share_right(right, [10, 10, 20], strata)
    found = estimate_share_right(right, [10, 10, 20], strata, expected=[0.9, 0.1, 0.9])
    assert found.share == pytest.approx(0.25 * 0.5 + 0.25 * 0.1 + 0.5)
    assert found.share < default.share
    overall = estimate_share_right(right, [10, 10, 20], strata, expected=[4 / 6] * 3)
    assert overall == default
    everywhere = estimate_share_right(right, 100, expected=[0.1])
    assert everywhere == estimate_share_right(right, 100)


def test_expected_share_near_one_half_makes_the_interval_wider():
    right, strata = [1] * 20, np.repeat([0, 1], 10)
    widths = []
    for share in (0.99, 0.5):
        found = estimate_share_right(right, [50] * 3, strata, expected=[0.9, 0.9, share])
        widths.append(found.high - found.low)
    assert widths[1] > 1.5 * widths[0]


def test_stratum_without_rows_changes_nothing():
    right = [1] * 12 + [0] * 8
    assert estimate_share_right(right, [0, 90, 0], [1] * 20) == estimate_share_right(right, 90)


def test_further_rows_halve_the_interval():
    first = estimate_share_right(np.arange(100) < 80, 2000)
    n = 100 + first.n_rows_to_halve
    second = estimate_share_right(np.arange(n) < 0.8 * n, 2000)
    ratio = (second.high - second.low) / (first.high - first.low)
    assert ratio == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("right", [0, 1])
def test_further_rows_halve_the_interval_if_all_are_equal(right):
    first = estimate_share_right([right] * 50, 2000)
    second = estimate_share_right([right] * (50 + first.n_rows_to_halve), 2000)
    ratio = (second.high - second.low) / (first.high - first.low)
    assert ratio == pytest.approx(0.5, abs=0.04)


def test_higher_level_is_wider():
    right = [1] * 40 + [0] * 10
    low, high = (estimate_share_right(right, 500, level=level) for level in (0.8, 0.99))
    assert high.low < low.low < low.high < high.high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 10), "at least one row"),
        (([2], 10), "truth value"),
        (([1, 0], [5, 5]), "There are 2 strata"),
        (([1, 0], [5, 5], [0, 2]), "from 0 to 1 for each of the 2"),
        (([1, 0], [5, 5], [0]), "for each of the 2"),
        (([1, 0, 1], 2), "Stratum 0 has 2 rows"),
    ],
)
def test_rejects(arguments, message):
    with pytest.raises(ValueError, match=message):
        estimate_share_right(*arguments)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        estimate_share_right([1], 2, level=95)
    for expected in ([0.5, 0.5], [0.0], [1.0]):
        with pytest.raises(ValueError, match="above 0 and below 1 for each of the 1 strata"):
            estimate_share_right([1], 2, expected=expected)


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


def test_a_comparison_of_all_rows_is_exact():
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
def test_invalid_comparisons(arguments, message):
    labels, n_rows = arguments[:3], (*arguments, None)[3]
    with pytest.raises(ValueError, match=message):
        compare_labels(*labels, n_rows=n_rows)
    with pytest.raises(ValueError, match="level"):
        compare_labels(["a"], ["a"], ["a"], level=95)
