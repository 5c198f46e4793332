"""Rows of an audit: proportional to the strata, at random, each at most once."""

from itertools import pairwise

import numpy as np
import pytest

from ambilearn.confidence import draw_audit


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
