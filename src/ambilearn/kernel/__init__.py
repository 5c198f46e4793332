"""The kernel ridge classifier of the methods, exact and with landmarks.

The limits are here so that a fit with the exact kernel does not import ``landmarks``.
"""

from numbers import Integral
from typing import Any

from ambilearn._utils.sklearn_compat import Interval


class _Count(Interval):
    """Integers in an interval, without booleans, which Python treats as 0 and 1."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and super().is_satisfied_by(val)


# Valid values of the parameter ``n_landmarks``, except None.
LANDMARKS_CONSTRAINT = _Count(Integral, 1, None, closed="left")

# From this many rows on, the n×n matrix of an exact kernel fills gigabytes: use landmarks.
MAX_EXACT_ROWS = 20_000
DEFAULT_N_LANDMARKS = 2_000

MAX_DENSE_LABELS = 1000  # of a sparse mask, if a dense matrix of rows and labels is needed


def check_dense_labels(n_labels: int) -> None:
    """Raise an error for a sparse mask with too many labels for the exact kernel."""
    if n_labels > MAX_DENSE_LABELS:
        raise ValueError(
            "A classifier with the exact kernel needs dense matrices of rows and labels, and there "
            f"are {n_labels} labels in a sparse mask: set n_landmarks for a kernel of low rank "
            "(with the number of rows it is exact), or pass a dense mask if memory allows."
        )
