"""NearestMean: means of labels, on the CPU or on a device; an example of "Adding a method"."""

from numbers import Integral, Real
from typing import Any

from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.sklearn_compat import Interval
from ambilearn.backend import Support, choose_backend
from ambilearn.base import PartialLabelClassifier, rank_last
from ambilearn.rows import TrainingRows


class NearestMean(PartialLabelClassifier):
    r"""Nearest mean of a label, with confidences that are refined iteratively.

    The mean :math:`m_j` of a label weights every row with its confidence. The score of a label is
    :math:`-\|x - m_j\|^2`. The confidences are the shares :math:`\Pi` of the candidates' weights,
    plus :math:`\mu` times the scores, divided by their mean size, projected onto the simplex of the
    candidates.

    Parameters
    ----------
    mu : float, default=2.0
        Weight :math:`\mu > 0` of the scores in the confidences.
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
        Mean of each label; zero if no row has confidence in it.
    has_mean_ : array of shape (l,)
        Whether a row has confidence in the label. Other labels are never predicted.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> NearestMean().fit(X, y).predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        "mu": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _tuning_grid = {"mu": (1.0, 2.0, 4.0, 8.0)}
    _computes_on_devices = True

    def __init__(self, *, mu: float = 2.0, max_iter: int = 10) -> None:
        self.mu = mu
        self.max_iter = max_iter

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        X = rows.X
        xp = array_namespace(candidates.labels)
        shares = confidences = candidates.prior()
        for _ in range(self.max_iter):
            weights = candidates.scatter(confidences)
            totals = xp.sum(weights, axis=0)
            self.has_mean_ = totals > 0
            self.means_ = (weights.T @ X) / xp.where(totals > 0, totals, 1.0)[:, None]
            scores = candidates.gather(self._scores(X))
            size = float(xp.mean(xp.abs(scores))) or 1.0  # 0 if all rows are equal
            confidences = candidates.simplex.project(shares + self.mu * scores / size)
        self.n_iter_ = self.max_iter
        self.label_distributions_ = candidates.as_output(confidences)

    def _scores(self, X: Any) -> NDArray[Any]:
        scores = -choose_backend(X).squared_distances(X, self.means_)
        return rank_last(scores, ~self.has_mean_)
