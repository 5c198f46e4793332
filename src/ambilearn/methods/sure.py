"""SURE: self-guided retraining that sharpens the confidences as it learns."""

from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.sklearn_compat import Interval
from ambilearn.backend import Support
from ambilearn.kernel.functions import KernelFunction
from ambilearn.methods._alternating import AlternatingClassifier
from ambilearn.methods._tuning import RIDGES


class SURE(AlternatingClassifier):
    r"""Partial-label learning with self-guided retraining (SURE).

    A kernel classifier is retrained on its own confidences :math:`P`, which are rewarded for
    favouring one candidate [1]_:

    .. math:: \min_{f, P}\ \|f(X) - P\|^2 + \beta \|f\|^2 - \lambda \sum_i \|p_i\|_\infty
              \quad\text{s.t.}\quad P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

    with the candidate mask :math:`Y`. Given the outputs :math:`q_i` the problem in :math:`p_i` is
    not convex, yet has a closed solution: the projection of :math:`q_i + \tfrac\lambda2 e_j` onto
    the candidate simplex, *j* being the best candidate in :math:`q_i`. So the objective never
    rises.

    Parameters
    ----------
    lam : float, default=0.3
        Weight :math:`\lambda \ge 0` of the reward for a large confidence. The paper tunes it, and
        :math:`\beta`, in {0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1}.
    rho : float, default=2.0
        Weight :math:`\rho \ge 0` of the candidates' own weights, where y has any.
    reg : float, default=0.05
        Ridge weight :math:`\beta > 0` of the classifier.
    kernel : {"rbf", "linear", "precomputed"} or callable, default="rbf"
        Kernel of the classifier, as in :class:`~ambilearn.methods.plcl.PLCL`.
    sigma : "mean" or float, default="mean"
        Bandwidth of the Gaussian kernel: a number, or the mean pairwise distance of the training
        rows.
    n_landmarks : int, optional
        Number of landmarks of a low-rank kernel [2]_: time and memory then grow with
        n·n_landmarks, not n³ and n². None, the default, is the exact kernel. A linear kernel
        needs none.
    landmarks : {"kmeans", "uniform"}, default="kmeans"
        Landmarks are centers of k-means, or rows drawn at random.
    max_iter : int, default=50
        Limit *T* of outer iterations.
    tol : float, default=1e-3
        The loop ends when P changes by at most this, :math:`\|P_t - P_{t-1}\|_F / \sqrt n`.
        With 0 it runs ``max_iter`` iterations and never warns.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.
    verbose : int, default=0
        Print a line per outer iteration.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in the order of the columns below.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences P of the training rows: zero off the candidates, rows sum to one.
    transduction_ : ndarray of shape (n,)
        Disambiguated label of each training row: the candidate of largest confidence.
    train_output_ : ndarray or csr_array of shape (n, l)
        Outputs of the classifier on the training rows.
    objective_ : ndarray of shape (n_iter_,)
        The objective after each outer iteration.
    n_iter_ : int
        Outer iterations done.
    sigma_, coef_, dual_coef_, intercept_, X_fit_
        The classifier, as in :class:`~ambilearn.methods.plcl.PLCL`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X was a data frame with string column names.

    See Also
    --------
    LALO : Smooths the confidences along a graph instead of sharpening them.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`).

    References
    ----------
    .. [1] Feng, An. Partial label learning with self-guided retraining. AAAI 2019.
    .. [2] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.

    Examples
    --------
    >>> from ambilearn import SURE
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = SURE().fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.label_distributions_[1].round(2)
    array([1., 0., 0.])
    """

    _parameter_constraints = {
        **AlternatingClassifier._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="left")],
    }
    _tuning_grid = {"lam": (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0), "reg": RIDGES}
    _paper_grid = dict.fromkeys(("lam", "reg"), (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0))

    def __init__(
        self,
        *,
        lam: float = 0.3,
        rho: float = 2.0,
        reg: float = 0.05,
        kernel: str | KernelFunction = "rbf",
        sigma: str | float = "mean",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        max_iter: int = 50,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.rho = rho
        self.reg = reg
        self.kernel = kernel
        self.sigma = sigma
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        simplex = candidates.simplex
        row_weights = 1.0 if candidates.row_weights is None else candidates.row_weights

        def sharpen(p: NDArray[np.float64], output: NDArray[np.float64]) -> NDArray[np.float64]:
            xp = array_namespace(output)
            best = xp.take(candidates.best_labels(output), candidates.rows)
            sharper = xp.where(candidates.labels == best, output + self.lam / 2, output)
            projected: NDArray[np.float64] = simplex.project(sharper)
            return projected

        def penalty(p: NDArray[np.float64]) -> float:
            weighted = candidates.largest(p) * row_weights
            return -self.lam * float(array_namespace(p).sum(weighted))

        self._alternate(X, candidates, cache, candidates.uniform(), sharpen, penalty)
