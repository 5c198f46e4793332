"""Draw the rows of an audit, and estimate and compare shares of correct labels by them."""

from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri, stdtrit
from sklearn.utils import check_random_state

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.types import Array, RandomState

_MAX_STRATA, _ROWS_OF_STRATUM = 10, 5  # most strata; fewest drawn rows in each
# The shares of the strata are drawn towards the overall share by this many rows where their
# variance is estimated: five rows of a stratum say little about it.
_PRIOR_ROWS = 4


@dataclass(frozen=True, eq=False)
class AuditSample:
    """Rows to check, drawn at random within strata.

    Attributes
    ----------
    rows : ndarray of shape (n_drawn,)
        Numbers of the drawn rows, in random order.
    strata : ndarray of shape (n_rows,)
        Stratum of every row of the table, 0 for the rows with the lowest scores.
    """

    rows: NDArray[np.intp]
    strata: NDArray[np.intp]

    @property
    def stratum_sizes(self) -> NDArray[np.intp]:
        """Number of rows in each stratum."""
        return np.bincount(self.strata)

    def merge_strata(self, n_checked: int) -> "AuditSample":
        """The sample with fewer and larger strata, for a part of its rows.

        Parameters
        ----------
        n_checked : int
            Number of the drawn rows that were checked.

        Returns
        -------
        AuditSample
            The same rows, in as many strata as :func:`draw_audit` makes for ``n_checked`` rows.

        Examples
        --------
        >>> import numpy as np
        >>> from ambilearn.confidence import draw_audit
        >>> draw_audit(np.linspace(0, 1, 200), 50).merge_strata(10).stratum_sizes
        array([100, 100])
        """
        n_now = len(self.stratum_sizes)
        n_strata = min(_choose_n_strata(n_checked), n_now)
        return AuditSample(self.rows, self.strata * n_strata // n_now)


def draw_audit(score: ArrayLike, n_rows: int, random_state: RandomState = 0) -> AuditSample:
    """Draw rows to check at random, in proportion from strata by the rank of their score.

    With the same seed, a larger number of rows includes the rows of a smaller one, so that an audit
    can be continued. Rows with equal scores are assigned to strata at random.

    Parameters
    ----------
    score : array-like of shape (n_rows_of_the_table,)
        Score or confidence of the label of each row; any finite numbers.
    n_rows : int
        Number of rows to draw; all if the table has no more.
    random_state : int, RandomState instance or None, default=0
        Seed.

    Returns
    -------
    AuditSample

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.confidence import draw_audit
    >>> sample = draw_audit(np.linspace(0, 1, 200), 50)
    >>> len(sample.rows), sample.stratum_sizes[:3], np.bincount(sample.strata[sample.rows])[:3]
    (50, array([20, 20, 20]), array([5, 5, 5]))
    """
    check_structure(score, "score")
    scores = np.asarray(score, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise ValueError("score must have one finite number for each row of the table.")
    if n_rows < 1:
        raise ValueError(f"An audit draws at least one row, not {n_rows}.")
    rng = check_random_state(random_state)
    n_table = len(scores)
    shuffled = rng.permutation(n_table)
    by_score = shuffled[np.argsort(scores[shuffled], kind="stable")]
    rank = np.empty(n_table, dtype=np.intp)
    rank[by_score] = np.arange(n_table)
    n_drawn = min(n_rows, n_table)
    rows = _draw_sequence(rank * min(_MAX_STRATA, n_table) // n_table, rng)[:n_drawn]
    return AuditSample(rng.permutation(rows), rank * _choose_n_strata(n_drawn) // n_table)


def _choose_n_strata(n_rows: int) -> int:
    return min(_MAX_STRATA, max(1, n_rows // _ROWS_OF_STRATUM))


def _draw_sequence(strata: NDArray[np.intp], rng: Any) -> NDArray[np.intp]:
    """All rows in an order whose every beginning has rows of all strata in proportion."""
    shuffled = rng.permutation(len(strata))
    mixed = shuffled[np.argsort(strata[shuffled], kind="stable")]
    sizes = np.bincount(strata)
    place = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    key = (place + np.repeat(rng.uniform(size=len(sizes)), sizes)) / np.repeat(sizes, sizes)
    return mixed[np.argsort(key, kind="stable")]


@dataclass(frozen=True)
class ShareEstimate:
    """Estimated share of correct labels.

    Attributes
    ----------
    share : float
        Estimate.
    low, high : float
        Interval around it.
    level : float
        Probability that such an interval covers the true share.
    n_checked : int
        Number of checked rows.
    n_rows : int
        Number of rows of the table.
    """

    share: float
    low: float
    high: float
    level: float
    n_checked: int
    n_rows: int

    @property
    def n_rows_to_halve(self) -> int:
        """Number of further rows to check until the interval is about half as wide."""
        n, N = self.n_checked, self.n_rows
        # The width is proportional to 1/√n; to 1/n if all checked labels are correct, or none is.
        ratio = 4 if 1e-12 < self.share < 1 - 1e-12 else 2
        return ceil(1 / ((1 / n - 1 / N) / ratio + 1 / N) - 1e-9) - n


def estimate_share_right(
    right: ArrayLike,
    stratum_sizes: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    level: float = 0.95,
    expected: ArrayLike | None = None,
) -> ShareEstimate:
    r"""Share of correct labels of a table, from rows that were drawn at random and checked.

    The estimate is :math:`p = \sum_h w_h p_h` with the share :math:`w_h` of the rows and the share
    :math:`p_h` of correct labels of stratum *h*. The interval is that of Korn and Graubard [1]_:
    the exact binomial interval for

    .. math::

        n_\mathrm{eff} = n \, \frac{\bar p (1 - \bar p) / n}
        {\sum_h w_h^2 (1 - n_h/N_h)\, \tilde p_h (1 - \tilde p_h) / n_h}
        \left(\frac{z}{t_{n-H}}\right)^2

    rows, where :math:`\tilde p_h` is the share of stratum *h*, shrunk toward the overall share by
    four rows, and :math:`\bar p = \sum_h w_h \tilde p_h`. It is narrower than an interval that
    ignores the strata if their shares differ, and also covers the truth near 0 and 1.

    Parameters
    ----------
    right : array-like of shape (n_checked,)
        Whether the label of each checked row is correct: truth values, or 0 and 1.
    stratum_sizes : int, or array-like of shape (n_strata,)
        Number of rows of the table in each stratum; without strata the number of rows.
    strata : array-like of shape (n_checked,), optional
        Stratum of each checked row, ``0 … n_strata - 1``. Without it there is one stratum. Within
        a stratum, the rows must have been drawn at random. Strata without checked rows have the
        expected share in the estimate; in the interval they count as one stratum with one checked
        row.
    level : float, default=0.95
        Probability that the interval covers the true share.
    expected : array-like of shape (n_strata,), optional
        Expected share of correct labels in each stratum, above 0 and below 1, such as its mean
        calibrated confidence. It is used for strata without checked rows; by default the overall
        share is.

    Returns
    -------
    ShareEstimate

    Raises
    ------
    ValueError
        If no row was checked, or more rows of a stratum than it has; or if ``expected`` is not
        between 0 and 1.

    See Also
    --------
    draw_audit : Draws the rows and makes the strata.

    References
    ----------
    .. [1] E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected
           number of positive counts estimated from survey data", Survey Methodology 24(2), 1998.

    Examples
    --------
    >>> from ambilearn.confidence import estimate_share_right
    >>> found = estimate_share_right([1] * 45 + [0] * 5, 1000)
    >>> round(found.share, 2), round(found.low, 2), round(found.high, 2)
    (0.9, 0.78, 0.97)
    >>> found.n_rows_to_halve
    124
    """
    hits, at, size = _check(right, stratum_sizes, strata)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level}.")
    n_h = np.bincount(at, minlength=len(size))
    x_h = np.bincount(at, weights=hits, minlength=len(size))
    n, weights = len(hits), size / size.sum()
    overall = (x_h.sum() + 1) / (n + 2)
    guess = np.asarray(np.full(size.shape, overall) if expected is None else expected, np.float64)
    if guess.shape != size.shape or not ((guess > 0) & (guess < 1)).all():
        raise ValueError(
            f"expected must have a share above 0 and below 1 for each of the {len(size)} strata."
        )
    share = float(weights @ np.where(n_h > 0, x_h / np.maximum(n_h, 1), guess))
    if (n_h == size).all():
        return ShareEstimate(share, share, share, level, n, int(size.sum()))
    smooth = (x_h + _PRIOR_ROWS * overall) / (n_h + _PRIOR_ROWS)
    smooth = np.where(n_h > 0, smooth, guess)
    of_strata = (1 - n_h / np.maximum(size, 1)) * smooth * (1 - smooth) / np.maximum(n_h, 1)
    variance = np.where(n_h > 0, weights, 0) ** 2 @ of_strata
    # Neighboring strata are similar: if the expected share is too high for one stratum without
    # checked rows, it is too high for the next one, too.
    unchecked = np.where(n_h > 0, 0, weights)
    variance += unchecked @ guess * (unchecked @ (1 - guess))
    mean = weights @ smooth
    tail = (1 - level) / 2
    n_effective = mean * (1 - mean) / variance
    n_effective *= (ndtri(tail) / stdtrit(max(n - np.count_nonzero(size), 1), tail)) ** 2
    low, high = exact_interval(share, n_effective, level)
    return ShareEstimate(share, float(low), float(high), level, n, int(size.sum()))


def exact_interval(share: ArrayLike, n: ArrayLike, level: float) -> tuple[Array, Array]:
    """Interval of Clopper and Pearson; the number of rows need not be an integer."""
    share, tail = np.asarray(share), (1 - level) / 2
    hits, misses = np.maximum(share * n, 1e-9), np.maximum((1 - share) * n, 1e-9)
    low = np.where(share > 1e-12, betaincinv(hits, misses + 1, tail), 0.0)
    high = np.where(share < 1 - 1e-12, betaincinv(hits + 1, misses, 1 - tail), 1.0)
    return low, high


def _check(
    right: ArrayLike, stratum_sizes: ArrayLike, strata: ArrayLike | None
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """Checked hits, strata of the checked rows, and sizes of the strata."""
    check_structure(right, "right")
    hits = np.asarray(right, dtype=np.float64)
    size = np.atleast_1d(np.asarray(stratum_sizes, dtype=np.intp))
    if hits.ndim != 1 or not len(hits) or not np.isin(hits, (0, 1)).all():
        raise ValueError(
            "right must have one truth value for each checked row, and at least one row."
        )
    if strata is None and len(size) > 1:
        raise ValueError(f"There are {len(size)} strata: pass the stratum of each checked row.")
    at = np.zeros(len(hits), np.intp) if strata is None else np.asarray(strata, dtype=np.intp)
    if at.shape != hits.shape or at.min() < 0 or at.max() >= len(size):
        raise ValueError(
            f"strata must have a number from 0 to {len(size) - 1} for each of the {len(hits)} "
            "checked rows."
        )
    over = np.flatnonzero(np.bincount(at, minlength=len(size)) > size)
    if len(over):
        raise ValueError(
            f"Stratum {over[0]} has {size[over[0]]} rows, but more of its rows were checked. "
            "Pass each checked row once."
        )
    return hits, at, size


@dataclass(frozen=True)
class LabelComparison:
    """Difference between the shares of correct labels of two labelings.

    Attributes
    ----------
    difference : float
        Share of correct labels of the second, minus that of the first, in the checked rows.
    low, high : float
        Interval around the difference of all rows.
    level : float
        Probability that such an interval covers the true difference.
    n_checked : int
        Number of checked rows.
    only_first, only_second : int
        Number of checked rows in which only the label of the first, or of the second, is correct.
    """

    difference: float
    low: float
    high: float
    level: float
    n_checked: int
    only_first: int
    only_second: int

    @property
    def decided(self) -> bool:
        """Whether zero is outside the interval."""
        return self.low > 0 or self.high < 0

    @property
    def n_to_decide(self) -> float:
        """Further rows until zero is outside the interval, if the shares remain as they are.

        Zero if it is already decided, infinite if the shares are equal.
        """
        if self.decided:
            return 0
        different = self.only_first + self.only_second
        gap = self.only_second - self.only_first
        if not gap:
            return inf
        needed = ndtri((1 + self.level) / 2) ** 2 * (different * self.n_checked / gap**2 - 1)
        return max(1, ceil(needed) - self.n_checked)


def compare_labels(
    first: ArrayLike,
    second: ArrayLike,
    truth: ArrayLike,
    *,
    n_rows: int | None = None,
    level: float = 0.95,
) -> LabelComparison:
    r"""Compare two labelings by checked rows that were drawn at random.

    The interval is the adjusted Wald interval for paired data [1]_. If only the first label is
    correct in *b* of *n* rows and only the second in *c*, it is

    .. math:: \tilde d \pm z \sqrt{\frac{\tilde p_b + \tilde p_c - \tilde d^2}{n + 2}}, \quad
              \tilde p_b = \frac{b + 1}{n + 2}, \quad \tilde p_c = \frac{c + 1}{n + 2}, \quad
              \tilde d = \tilde p_c - \tilde p_b .

    Rows in which both are correct, or both are wrong, hardly matter: two labelings are compared by
    far fewer rows than their shares of correct labels are estimated.

    Parameters
    ----------
    first, second : array-like of shape (n_checked,)
        Labels of the checked rows, for instance by two methods.
    truth : array-like of shape (n_checked,)
        Their true labels.
    n_rows : int, optional
        Number of rows from which the checked rows were drawn, to narrow the interval if many of
        them were checked.
    level : float, default=0.95
        Probability that the interval covers the true difference.

    Returns
    -------
    LabelComparison

    Raises
    ------
    ValueError
        If no row was checked, the lengths differ, or there are fewer rows than checked rows.

    References
    ----------
    .. [1] D. G. Bonett, R. M. Price, "Adjusted Wald confidence interval for a difference of
           binomial proportions based on paired data", Journal of Educational and Behavioral
           Statistics 37(4), 2012.

    Examples
    --------
    >>> from ambilearn.confidence import compare_labels
    >>> truth = ["cat"] * 50
    >>> forest, stack = ["cat"] * 45 + ["dog"] * 5, ["dog"] * 6 + ["cat"] * 44
    >>> found = compare_labels(stack, forest, truth)
    >>> round(found.difference, 2), round(found.low, 2), round(found.high, 2)
    (0.02, -0.12, 0.16)
    >>> found.n_to_decide
    2059
    """
    labels, others, correct = (np.asarray(each) for each in (first, second, truth))
    if not labels.shape == others.shape == correct.shape == (correct.size,):
        raise ValueError(
            f"first, second and truth have the shapes {labels.shape}, {others.shape} and "
            f"{correct.shape}: pass one label for each checked row."
        )
    n = len(correct)
    if not n or (n_rows is not None and n_rows < n):
        raise ValueError(f"{n} rows were checked of {n_rows}: check at least one row.")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")
    right = labels == correct, others == correct
    b, c = int(np.sum(right[0] & ~right[1])), int(np.sum(right[1] & ~right[0]))
    p_b, p_c = (b + 1) / (n + 2), (c + 1) / (n + 2)
    unknown = 1.0 if n_rows is None else 1 - n / n_rows
    half = float(ndtri((1 + level) / 2)) * sqrt((p_b + p_c - (p_c - p_b) ** 2) / (n + 2) * unknown)
    middle = p_c - p_b if unknown else (c - b) / n
    interval = max(-1.0, middle - half), min(1.0, middle + half)
    return LabelComparison((c - b) / n, *interval, level, n, b, c)
