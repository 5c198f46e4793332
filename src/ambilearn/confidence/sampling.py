"""Draw the rows of an audit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

_MAX_STRATA, _ROWS_OF_STRATUM = 10, 5


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


def draw_audit(score: ArrayLike, n_rows: int, random_state: Any = 0) -> AuditSample:
    """Draw rows to check, from strata of equal size by the rank of their score.

    There are up to ten strata, each with at least five drawn rows. The number of drawn rows of a
    stratum is proportional to its size. Rows with equal scores are assigned at random.

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
    scores = np.asarray(score, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise ValueError("score must have one finite number for each row of the table.")
    if n_rows < 1:
        raise ValueError(f"An audit draws at least one row, not {n_rows}.")
    rng = check_random_state(random_state)
    n = min(n_rows, len(scores))
    n_strata = min(_MAX_STRATA, max(1, n // _ROWS_OF_STRATUM))
    shuffled = rng.permutation(len(scores))
    order = shuffled[np.argsort(scores[shuffled], kind="stable")]
    strata = np.empty(len(scores), dtype=np.intp)
    strata[order] = np.arange(len(scores)) * n_strata // len(scores)
    # Every n-th row from a random start, in an order that is random within strata: the numbers of
    # drawn rows are proportional to the sizes of the strata, rounded at random.
    mixed = shuffled[np.argsort(strata[shuffled], kind="stable")]
    places = (np.arange(n) + rng.uniform()) * len(scores) / n
    rows = mixed[np.minimum(places.astype(np.intp), len(scores) - 1)]
    return AuditSample(rng.permutation(rows), strata)
