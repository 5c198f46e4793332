"""Which of two labelings has more correct labels, from the same checked rows."""

from dataclasses import dataclass
from math import ceil, inf, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri


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
