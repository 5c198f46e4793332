"""State of an estimator after a failed fit: the earlier fit or none, never a mixture."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator


def forget_fit(estimator: BaseEstimator, keep: Collection[str] = ()) -> None:
    """Delete the fitted attributes of an estimator, which end in an underscore, except ``keep``."""
    for name in [name for name in vars(estimator) if name.endswith("_") and name not in keep]:
        delattr(estimator, name)


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Restore all attributes of an estimator if the block fails."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def unfitted_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator unfitted if its fit fails, even if it was fitted before."""
    try:
        yield
    except BaseException:  # including KeyboardInterrupt
        forget_fit(estimator)
        raise
