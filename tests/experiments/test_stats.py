import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ambilearn.experiments.stats import compare, holm, rank, summarize

SCORES = st.lists(st.floats(0, 1, width=32), min_size=3, max_size=12)


@given(SCORES)
def test_summary_is_numpy_s(values):
    found = summarize(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.std == pytest.approx(np.std(values, ddof=1))
    assert found.n == len(values)


def test_one_value_has_no_deviation():
    mean, std, n = summarize([0.5])
    assert (mean, n) == (0.5, 1)
    assert np.isnan(std)


@given(SCORES, st.integers(0, 2**32 - 1))
def test_comparison_is_scipy_s_paired_test(values, seed):
    other = np.asarray(values) + np.random.default_rng(seed).normal(0.02, 0.05, len(values))
    found = compare(values, other)
    expected = stats.ttest_rel(values, other)
    assert found.p == pytest.approx(expected.pvalue)
    significant = expected.pvalue < 0.05
    assert found.outcome == (np.sign(expected.statistic) if significant else 0)
    assert compare(other, values).outcome == -found.outcome


@pytest.mark.parametrize(
    ("a", "b", "p", "outcome"),
    [([0.5, 0.6], [0.5, 0.6], 1.0, 0), ([0.75, 0.5], [0.5, 0.25], 0.0, 1)],
)
def test_differences_without_spread(a, b, p, outcome):
    assert compare(a, b) == (p, outcome)


def test_one_run_has_no_p_value():
    p, outcome = compare([0.9], [0.1])
    assert np.isnan(p)
    assert outcome == 0


def test_holm_of_a_small_example():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_holm_ignores_untested_values():
    found = holm([np.nan, 0.02, np.nan, 0.03])
    assert found[1::2] == pytest.approx([0.04, 0.04])
    assert np.isnan(found[::2]).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_never_below_the_p_value_nor_above_bonferroni(p):
    found = np.array(holm(p))
    assert (found >= np.array(p)).all()
    assert (found <= np.minimum(np.array(p) * len(p), 1) + 1e-12).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= 0).all()


def test_ranks_of_a_small_example():
    found = rank({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.8, 0.9], "c": [0.1, 0.2, 0.3]})
    assert found.ranks == pytest.approx({"a": (1 + 1.5 + 2) / 3, "b": (2 + 1.5 + 1) / 3, "c": 3})
    assert found.n_cases == 3


@pytest.mark.parametrize(
    ("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (7, 2.949), (10, 3.164)]
)
def test_critical_difference_with_demsar_s_table(k, q):
    """The constants of Demšar 2006, Table 5(a), at 0.05."""
    n = 14
    scores = np.random.default_rng(0).random((k, n))
    found = rank({str(i): row for i, row in enumerate(scores)})
    assert found.critical_difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * n)), rel=1e-3)
    if k > 2:
        assert found.p == pytest.approx(stats.friedmanchisquare(*scores).pvalue)
