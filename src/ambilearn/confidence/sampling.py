"""Draw the rows of an audit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.types import RandomState

_MAX_STRATA, _ROWS_OF_STRATUM = 10, 5  # most strata; fewest drawn rows in each


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
    sequence: NDArray[np.intp] = mixed[np.argsort(key, kind="stable")]
    return sequence
