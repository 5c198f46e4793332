r"""Temperature scaling: sharpen or soften probabilities by one number.

Scores *s* become the probabilities :math:`\operatorname{softmax}(b\,s)` [1]_. *b* is the inverse
temperature: above 1 the probabilities are sharper than those of *b* = 1, below 1 flatter. The order
of the labels in a row does not change. With :math:`s = \log p` this is :math:`p^b`, normalized.

References
----------
.. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
       ICML 2017.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import softmax


def scale_scores(scores: ArrayLike, inverse_temperature: float) -> NDArray[np.float64]:
    r"""Probabilities :math:`\operatorname{softmax}(b\,s)` of scores *s*.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_labels)
        Scores of the labels, such as the logarithms of probabilities. A label with the score
        ``-inf`` has the probability 0.
    inverse_temperature : float
        The factor *b*, above 0.

    Returns
    -------
    ndarray of shape (n_rows, n_labels)
        Probabilities; the rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.confidence import scale_scores
    >>> scale_scores(np.log([[0.6, 0.3, 0.1]]), 2.0).round(2)
    array([[0.78, 0.2 , 0.02]])
    """
    scaled: NDArray[np.float64] = softmax(inverse_temperature * np.asarray(scores), axis=1)
    return scaled


def fit_temperature(
    scores: ArrayLike, targets: ArrayLike, *, bounds: tuple[float, float] = (0.1, 200.0)
) -> float:
    r"""Inverse temperature at which the mean confidence is the expected share of correct labels.

    .. math:: \frac1n \sum_i \max_j \operatorname{softmax}(b\,s_i)_j
              = \frac1n \sum_i T_{i \hat\jmath(i)}, \qquad \hat\jmath(i) = \arg\max_j s_{ij}

    Unlike the *b* with the smallest cross entropy to the targets, it hardly depends on single rows
    in which the target has a score that is far too low. Many methods give such a label the
    probability zero.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_labels)
        Scores *s* of rows that the classifier has not been fitted to; ``-inf`` for a label with
        probability 0.
    targets : array-like of shape (n_rows, n_labels)
        Probabilities *T* of the labels: one 1 in each row for known labels.
    bounds : tuple of float, default=(0.1, 200.0)
        Smallest and largest value.

    Returns
    -------
    float
        *b* for :func:`scale_scores`.

    Examples
    --------
    Three of four predictions with a probability of .9 are correct, so the probabilities are too
    high:

    >>> import numpy as np
    >>> from ambilearn.confidence import fit_temperature, scale_scores
    >>> scores = np.log([[0.9, 0.1]] * 4)
    >>> b = fit_temperature(scores, [[1, 0], [1, 0], [1, 0], [0, 1]])
    >>> scale_scores(scores, b)[0].round(2)
    array([0.75, 0.25])
    """
    scores, targets = np.asarray(scores, float), np.asarray(targets, float)
    if scores.ndim != 2 or scores.shape != targets.shape:
        raise ValueError(
            f"scores and targets must have the same shape (n_rows, n_labels); got {scores.shape} "
            f"and {targets.shape}."
        )
    if not (np.isfinite(scores.max(axis=1)).all() and np.isfinite(targets).all()):
        raise ValueError("scores and targets must be finite; a score may be -inf.")
    share = targets[np.arange(len(scores)), scores.argmax(axis=1)].mean()

    def excess(log_b: float) -> float:
        """Mean confidence above the share; it grows with *b*."""
        return float(scale_scores(scores, np.exp(log_b)).max(axis=1).mean() - share)

    low, high = np.log(bounds)
    if excess(low) >= 0:
        return bounds[0]
    return bounds[1] if excess(high) <= 0 else float(np.exp(brentq(excess, low, high)))


def search_temperature(loss: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """Inverse temperature with the smallest loss within bounds, searched on a logarithmic scale."""
    found = minimize_scalar(
        lambda log_b: loss(float(np.exp(log_b))), bounds=np.log(bounds), method="bounded"
    )
    return float(np.exp(found.x))
