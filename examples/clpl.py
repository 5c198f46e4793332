"""CLPL: a convex loss on the mean score of the candidates; an example of "Adding a method"."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import Support
from ambilearn.base import PartialLabelClassifier, rank_last
from ambilearn.rows import TrainingRows


class CLPL(PartialLabelClassifier):
    r"""Convex loss for partial labels (CLPL).

    Linear scores :math:`g(x) = W^\top x + b`. The loss is zero if the *mean* score of a row's
    candidates is at least 1 and the score of every other label at most -1 [1]_:

    .. math::
        \min_{W, b}\ \sum_i \psi\Bigl(\sum_{j \in S_i} \Pi_{ij}\, g_j(x_i)\Bigr)
        + \sum_i \sum_{j \notin S_i} \psi(-g_j(x_i)) + \lambda \|W\|^2,
        \qquad \psi(u) = \max(0, 1 - u)^2

    The shares :math:`\Pi` are the weights of the candidates divided by the sum of their row; in the
    paper all are :math:`1 / |S_i|`.

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
        Scores of the training rows plus :math:`\Pi`, projected onto the probability simplex over
        the candidates.
    transduction_ : ndarray of shape (n,)
        The candidate of largest confidence.
    coef_, intercept_ : ndarray of shape (d, l) and (l,)
        W and b.
    is_candidate_ : ndarray of shape (l,)
        Whether the label is a candidate of a training row. Other labels are never predicted.
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
    _tuning_grid = {"reg": (0.01, 0.1, 1.0, 10.0)}

    def __init__(self, *, reg: float = 1.0, max_iter: int = 500, tol: float = 1e-5) -> None:
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        X = rows.X
        shares = candidates.scatter(candidates.prior())
        used = self.is_candidate_ = shares.any(axis=0)
        found = minimize(
            mean_loss,
            np.zeros((X.shape[1] + 1) * used.sum()),  # the last row is the bias
            args=(X, shares[:, used], self.reg),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0},
        )
        if found.status == 1:  # iteration limit
            warn_user(
                f"CLPL stopped after max_iter={self.max_iter} steps: raise max_iter or tol.",
                ConvergenceWarning,
            )
        parameters = np.zeros((X.shape[1] + 1, candidates.n_labels))
        parameters[:, used] = found.x.reshape(len(parameters), -1)
        self.coef_, self.intercept_ = parameters[:-1], parameters[-1]
        self.n_iter_ = found.nit
        scores = candidates.gather(self._scores(X))
        confidences = candidates.simplex.project(scores + candidates.prior())
        self.label_distributions_ = candidates.as_output(confidences)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = X @ self.coef_ + self.intercept_
        return rank_last(scores, ~self.is_candidate_)


def mean_loss(
    theta: NDArray[np.float64], X: Any, shares: NDArray[np.float64], reg: float
) -> tuple[float, NDArray[np.float64]]:
    """Objective divided by the number of rows, and its gradient; W and b are rows of theta."""
    n = len(shares)
    parameters = theta.reshape(-1, shares.shape[1])
    W, b = parameters[:-1], parameters[-1]
    scores = X @ W + b
    lack = np.maximum(0, 1 - (shares * scores).sum(axis=1, keepdims=True))
    excess = np.where(shares > 0, 0, np.maximum(0, 1 + scores))
    value = np.sum(lack**2) + np.sum(excess**2) + reg * np.sum(W**2)
    slope = 2 * (excess - lack * shares)
    gradient = np.vstack([X.T @ slope + 2 * reg * W, slope.sum(axis=0)])
    return value / n, gradient.ravel() / n
