"""NearestMean: means of labels, on the CPU or on a device; an example of "Adding a method"."""

from numbers import Integral
from typing import Any

from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.sklearn_compat import Interval
from ambilearn.backend import Support, choose_backend
from ambilearn.base import PartialLabelClassifier


class NearestMean(PartialLabelClassifier):
    r"""Nearest mean of a label, with confidences that are refined iteratively.

    The mean of a label weights every row with its confidence. The score of a label is the negative
    squared distance to its mean. The confidences are the scores, projected onto the candidates.

    Parameters
    ----------
    max_iter : int, default=10
        Number of iterations.

    Attributes
    ----------
    classes_ : array of shape (l,)
        The labels.
    label_distributions_ : array or csr_array of shape (n, l)
        Confidences of the training rows.
    transduction_ : array of shape (n,)
        The candidate of largest confidence.
    means_ : array of shape (l, d)
        Mean of each label.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> NearestMean().fit(X, y).predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {"max_iter": [Interval(Integral, 1, None, closed="left")]}
    _computes_on_devices = True

    def __init__(self, *, max_iter: int = 10) -> None:
        self.max_iter = max_iter

    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        confidences = candidates.prior()
        for _ in range(self.max_iter):
            self.means_ = _weighted_means(X, candidates.scatter(confidences))
            scores = -candidates.backend.squared_distances(X, self.means_)
            confidences = candidates.simplex.project(candidates.gather(scores))
        self.n_iter_ = self.max_iter
        self.label_distributions_ = candidates.as_output(confidences)

    def _scores(self, X: Any) -> NDArray[Any]:
        scores: NDArray[Any] = -choose_backend(X).squared_distances(X, self.means_)
        return scores


def _weighted_means(X: Any, weights: Any) -> Any:
    """Mean of the rows of X for each column of the weights."""
    xp = array_namespace(weights)
    totals = xp.sum(weights, axis=0)
    return (weights.T @ X) / xp.where(totals > 0, totals, 1.0)[:, None]
