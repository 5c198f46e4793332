"""CLPL: a convex loss on the mean score of the candidates; an example of "Adding a method"."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import Support
from ambilearn.base import PartialLabelClassifier


class CLPL(PartialLabelClassifier):
    r"""Convex loss for partial labels (CLPL).

    Linear scores :math:`g(x) = W^\top x + b`. The loss is zero if the *mean* score of a row's
    candidates is at least 1 and the score of every other label at most -1 [1]_:

    .. math::
        \min_{W, b}\ \sum_i \psi\Bigl(\frac1{|S_i|} \sum_{j \in S_i} g_j(x_i)\Bigr)
        + \sum_i \sum_{j \notin S_i} \psi(-g_j(x_i)) + \lambda \|W\|^2,
        \qquad \psi(u) = \max(0, 1 - u)^2

    Parameters
    ----------
    reg : float, default=1.0
        Ridge weight :math:`\lambda > 0`.
    max_iter : int, default=500
        Iteration limit of the solver (L-BFGS).
    tol : float, default=1e-5
        The solver stops when no entry of the gradient of the mean loss is larger than this.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    label_distributions_ : ndarray of shape (n, l)
        Scores of the training rows, projected onto the probability simplex over the candidates.
    transduction_ : ndarray of shape (n,)
        The candidate of largest confidence.
    coef_, intercept_ : ndarray of shape (d, l) and (l,)
        W and b.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    .. [1] Cour, Sapp, Taskar. Learning from partial labels. JMLR 12, 1501-1536, 2011.

    Examples
    --------
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> CLPL(reg=0.01).fit(X, y).predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        "reg": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, *, reg: float = 1.0, max_iter: int = 500, tol: float = 1e-5) -> None:
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        shape = X.shape[1] + 1, candidates.n_labels  # the last row is the bias
        found = minimize(
            mean_loss,
            np.zeros(shape).ravel(),
            args=(X, candidates.sets.to_mask(), self.reg),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0},
        )
        if found.status == 1:  # iteration limit
            warn_user(
                f"CLPL stopped after max_iter={self.max_iter} steps: raise max_iter or tol.",
                ConvergenceWarning,
            )
        parameters = found.x.reshape(shape)
        self.coef_, self.intercept_ = parameters[:-1], parameters[-1]
        self.n_iter_ = found.nit
        confidences = candidates.simplex.project(candidates.gather(self._scores(X)))
        self.label_distributions_ = candidates.as_output(confidences)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return X @ self.coef_ + self.intercept_


def mean_loss(
    theta: NDArray[np.float64], X: Any, mask: NDArray[np.bool_], reg: float
) -> tuple[float, NDArray[np.float64]]:
    """Objective divided by the number of rows, and its gradient."""
    n = len(mask)
    parameters = theta.reshape(-1, mask.shape[1])
    W, b = parameters[:-1], parameters[-1]
    scores = X @ W + b
    share = mask / mask.sum(axis=1, keepdims=True)
    lack = np.maximum(0, 1 - (share * scores).sum(axis=1, keepdims=True))
    excess = np.where(mask, 0, np.maximum(0, 1 + scores))
    value = np.sum(lack**2) + np.sum(excess**2) + reg * np.sum(W**2)
    slope = 2 * (excess - lack * share)
    gradient = np.vstack([X.T @ slope + 2 * reg * W, slope.sum(axis=0)])
    return value / n, gradient.ravel() / n
