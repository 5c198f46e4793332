r"""Statistics over the runs of an experiment.

Methods are compared on the same splits, so all tests are paired.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

SIGNIFICANCE_LEVEL = 0.05


class Summary(NamedTuple):
    """Mean and standard deviation (ddof = 1) over n runs; the deviation of one run is NaN."""

    mean: float
    std: float
    n: int


def summarize(values: ArrayLike) -> Summary:
    """Mean, standard deviation and number of values.

    >>> summarize([0.5, 0.75, 1.0])
    Summary(mean=0.75, std=0.25, n=3)
    """
    values = np.asarray(values, dtype=float)
    std = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return Summary(float(values.mean()), std, len(values))


class Comparison(NamedTuple):
    """Paired t-test: p-value, and whether the first is better (1), worse (-1) or neither (0)."""

    p: float
    outcome: int


def compare(
    reference: ArrayLike, other: ArrayLike, level: float = SIGNIFICANCE_LEVEL
) -> Comparison:
    """Two-sided paired t-test over the runs of two methods on the same splits.

    p is NaN with fewer than two runs, and 1 if all scores are equal.

    >>> compare([0.9, 0.8, 0.9, 0.9], [0.7, 0.7, 0.6, 0.7]).outcome
    1
    """
    difference = np.asarray(reference, dtype=float) - np.asarray(other, dtype=float)
    if len(difference) < 2:
        return Comparison(float("nan"), 0)
    if np.ptp(difference) == 0:  # the test's statistic is 0/0, or infinite
        p = 1.0 if difference[0] == 0 else 0.0
    else:
        p = float(stats.ttest_1samp(difference, 0.0).pvalue)
    return Comparison(p, int(np.sign(difference.mean())) if p < level else 0)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for multiple tests; NaN values are kept and not counted.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.isfinite(p).sum()]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return corrected.tolist()


class Ranking(NamedTuple):
    """Average ranks (1 is best) over cases, Friedman's p-value, and Nemenyi's critical difference.

    Two methods differ significantly, at level 0.05, if their ranks differ by more than the critical
    difference.
    """

    ranks: dict[str, float]
    p: float
    critical_difference: float
    n_cases: int


def rank(scores: Mapping[str, ArrayLike]) -> Ranking:
    r"""Rank methods over cases (data sets, settings), as Demšar recommends [1]_.

    .. math:: \mathrm{CD} = q_{0.05} \sqrt{\frac{k (k + 1)}{6 N}}

    for *k* methods and *N* cases, where *q* is the studentized range statistic divided by √2.

    ``scores`` has the mean score of each method in each case. Larger is better, and ties have their
    average rank.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
           2006.

    >>> rank({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.8, 0.6]}).ranks
    {'a': 1.1666666666666667, 'b': 1.8333333333333333}
    """
    table: NDArray[np.float64] = np.array([np.asarray(s, dtype=float) for s in scores.values()])
    k, n = table.shape
    ranks = stats.rankdata(-table, axis=0).mean(axis=1)
    q = stats.studentized_range.ppf(1 - SIGNIFICANCE_LEVEL, k, np.inf) / np.sqrt(2)
    p = float("nan")
    if k > 2 and n > 1 and np.ptp(table, axis=0).any():
        p = float(stats.friedmanchisquare(*table).pvalue)
    width = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(dict(zip(scores, ranks.tolist(), strict=True)), p, width, n)
