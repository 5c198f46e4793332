"""Counts of random events."""

from scipy import stats


def assert_binomial(count, n, probability):
    """Not in the outer 1e-9 of the distribution: practically never by chance."""
    low, high = stats.binom.ppf([5e-10, 1 - 5e-10], n, probability)
    assert low <= count <= high, f"{count} of {n} is not a share of {probability}"
