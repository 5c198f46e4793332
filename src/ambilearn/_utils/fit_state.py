"""What a fit that fails leaves behind: an earlier fit or none, never parts of two."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


def forget_fit(estimator: Any, keep: Collection[str] = ()) -> None:
    """Delete the fitted attributes of an estimator, whose names end in an underscore.

    Parameters
    ----------
    estimator : estimator
        Fitted or not.
    keep : collection of str, optional
        Attributes that stay.
    """
    for name in [name for name in vars(estimator) if name.endswith("_") and name not in keep]:
        delattr(estimator, name)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Restore all attributes of an estimator if the data inside are refused.

    Parameters
    ----------
    estimator : estimator
        The one that checks its data.
    """
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def unfitted_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator unfitted if the fit inside fails, also if it was fitted before.

    Parameters
    ----------
    estimator : estimator
        The one that is fitted.
    """
    try:
        yield
    except BaseException:  # also an interrupt by the user
        forget_fit(estimator)
        raise
