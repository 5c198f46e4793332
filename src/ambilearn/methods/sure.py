"""SURE: self-guided retraining with a term that favors large confidences."""

from numbers import Real

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.types import RandomState
from ambilearn.backend import Support
from ambilearn.kernel.functions import KernelFunction
from ambilearn.methods._alternating import AlternatingClassifier
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.methods._kernel_classifier import RIDGES
from ambilearn.rows import TrainingRows


@insert_shared_docs
class SURE(AlternatingClassifier):
    r"""Partial-label learning with self-guided retraining (SURE).

    Retrains a kernel classifier on its own confidences :math:`P`, with a term that favors a large
    confidence in one candidate [1]_:

    .. math:: \min_{f, P}\ \|f(X) - P\|^2 + \beta \|f\|^2 - \lambda \sum_i \|p_i\|_\infty
              \quad\text{s.t.}\quad P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

    with the candidate mask :math:`Y`. Given the outputs :math:`q_i`, the problem in :math:`p_i` is
    not convex but has a closed-form solution: the projection of
    :math:`q_i + \tfrac\lambda2 e_j` onto the candidate simplex, where *j* is the candidate with
    the largest output. The objective never increases.

    Parameters
    ----------
    lam : float, default=0.3
        Weight :math:`\lambda \ge 0` of the term that favors large confidences. The paper tunes it
        and :math:`\beta` in {0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1}.
    {rho}
    reg : float, default=0.05
        Ridge weight :math:`\beta > 0` of the classifier.
    {kernel}
    {sigma}
    {n_landmarks}
    {landmarks}
    {max_iter}
    {tol}
    {random_state}
    {verbose}

    Attributes
    ----------
    {classes_}
    {label_distributions_}
    {transduction_}
    {train_output_}
    {objective_}
    {n_iter_}
    {sigma_}
    {coef_}
    {dual_coef_}
    {intercept_}
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LALO : Smooths the confidences on a graph instead of sharpening them.

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
        random_state: RandomState = None,
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

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        simplex = candidates.simplex
        row_weights = 1.0 if candidates.row_weights is None else candidates.row_weights

        def sharpen(p: NDArray[np.float64], output: NDArray[np.float64]) -> NDArray[np.float64]:
            xp = array_namespace(output)
            best = xp.take(candidates.best_labels(output), candidates.rows)
            sharper = xp.where(candidates.labels == best, output + self.lam / 2, output)
            return simplex.project(sharper)

        def penalty(p: NDArray[np.float64]) -> float:
            weighted = candidates.largest(p) * row_weights
            return -self.lam * float(array_namespace(p).sum(weighted))

        self._alternate(
            self._space(rows, candidates), candidates, candidates.uniform(), sharpen, penalty
        )
