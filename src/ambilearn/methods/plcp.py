"""PLCP: a base method and a partner classifier that supervise each other alternately."""

from numbers import Integral, Real

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ambilearn._utils.rounds import OuterLoop
from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.types import RandomState
from ambilearn.backend import Support
from ambilearn.base import normalize_candidate_votes
from ambilearn.graph.adaptive import AdaptiveGraph
from ambilearn.graph.neighbors import NEIGHBOR_COUNTS
from ambilearn.kernel.functions import KernelFunction
from ambilearn.kernel.leave_one_out import Ridge
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.methods._kernel_classifier import RIDGES, KernelPartialLabelClassifier
from ambilearn.rows import TrainingRows


@insert_shared_docs
class PLCP(KernelPartialLabelClassifier):
    r"""Partial-label learning with a partner classifier (PLCP).

    A base method, PL-AGGD, learns which candidate is correct; a partner classifier :math:`g` learns
    which labels are *not* (:math:`Q`, one for labels that are not candidates). In each stage, each
    receives the smoothed (*blurred*) confidences of the other; blurring avoids overconfidence in
    wrong labels [1]_:

    .. math::
        E &\leftarrow \tfrac12 (E + H), \quad B \leftarrow \operatorname{blur}(E)
        && \text{with the outputs } H \text{ of the base} \\
        g, Q &\leftarrow \arg\min\ \|g(X) - Q\|^2 + \lambda \|g\|^2 + 2 \langle B, Q \rangle
        && \text{s.t. } Q\mathbf 1 = l - 1,\ 1 - Y \le Q \le 1 \\
        F &\leftarrow \tfrac12 (F + g(X)), \quad P \leftarrow \operatorname{blur}(1 - F)
        && \text{from which the base continues}

    where :math:`\operatorname{blur}(M)` is :math:`\exp(\kappa M)` on the candidates, divided by
    its sum in each row; E is clipped to :math:`[0, Y]` and F to :math:`[1 - Y, 1]`. The partner
    predicts the label with the smallest :math:`g`. With :math:`Z = 1 - Q`, its problem is solved by
    alternating ridge regression and projection of :math:`1 - g(X) + B` onto the candidate
    simplices.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight :math:`\gamma \ge 0` of reconstructing the features from the neighbors, in the
        base.
    mu : float, default=1.0
        Weight :math:`\mu \ge 0` of reconstructing the confidences from the neighbors, in the
        base.
    {rho}
    kappa : float, optional
        Sharpness :math:`\kappa > 0` of the blurred confidences. None, the default, is
        :math:`e^{-1}`, the value of the authors: confidences of 1 and 0 become 0.59 and 0.41.
    base_iter : int, default=10
        Number of iterations of the base in each stage.
    partner_iter : int, default=30
        Number of iterations of the partner in each stage.
    reg : float, default=0.05
        Ridge weight :math:`\lambda > 0` of the partner and of the base.
    {kernel}
    {sigma}
    {n_neighbors}
    {neighbors}
    {n_landmarks}
    {landmarks}
    max_iter : int, default=5
        Maximum number of stages.
    tol : float, default=0.0
        Tolerance of the stopping criterion: the stages end when P changes by at most ``tol``,
        :math:`\|P_t - P_{t-1}\|_F / \sqrt n`. With 0, the default, exactly ``max_iter`` stages run
        and no warning is issued.
    {random_state}
    verbose : int, default=0
        If positive, print a line per stage.

    Attributes
    ----------
    {classes_}
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences :math:`Z = 1 - Q` of the partner on the training rows: zero for labels that are
        not candidates; each row sums to one. Sparse if y is a sparse mask.
    {transduction_}
    train_output_ : ndarray or csr_array of shape (n, l)
        Outputs :math:`1 - g(X)` of the partner on the training rows.
    n_iter_ : int
        Number of stages.
    {sigma_}
    {coef_}
    {dual_coef_}
    {intercept_}
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLAGGD : The base.
    PLCL : Also has a complementary classifier, but a single objective.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). Kernel, landmarks,
    ``rho`` and ``reg`` apply to the partner and to the base, which share one factorization; the
    neighbor graph belongs to the base, which starts each stage with the initial graph.
    Because the bias is free, ridge regression of 1 − Q gives 1 − g(X), so only Z is regressed.
    Attributes of the classifier, such as ``coef_``, are those of the partner. In the authors' code,
    the partner affects the base through the graph only; here the base continues from the
    confidences P, as in the paper.

    References
    ----------
    .. [1] Si, Jiang, Wang, Wang, Yang, Shen. Partial label learning with a partner. AAAI 2024.
    .. [2] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.

    Examples
    --------
    >>> from ambilearn import PLCP
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = PLCP(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        **KernelPartialLabelClassifier._parameter_constraints,
        "kappa": [Interval(Real, 0, None, closed="neither"), None],
        "base_iter": [Interval(Integral, 1, None, closed="left")],
        "partner_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _computes_on_devices = True
    _tuning_grid = {"reg": RIDGES, "n_neighbors": NEIGHBOR_COUNTS}

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        mu: float = 1.0,
        rho: float = 2.0,
        kappa: float | None = None,
        base_iter: int = 10,
        partner_iter: int = 30,
        reg: float = 0.05,
        kernel: str | KernelFunction = "rbf",
        sigma: str | float = "mean",
        n_neighbors: int = 10,
        neighbors: str | BaseEstimator = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        max_iter: int = 5,
        tol: float = 0.0,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.mu = mu
        self.rho = rho
        self.kappa = kappa
        self.base_iter = base_iter
        self.partner_iter = partner_iter
        self.reg = reg
        self.kernel = kernel
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        # All are support vectors: E, H, B and P of the docstring, Z = 1 − Q and U = 1 − F.
        space = self._space(rows, candidates)
        graph, start = rows.adaptive_graph(
            candidates, self.n_neighbors, self.neighbors, of_kernel=self._pairwise
        )
        (ridge,) = space.ridges(self.reg)
        simplex = candidates.simplex
        reward = self.rho * candidates.preference()

        e = p = start
        xp = array_namespace(e)
        u = xp.ones_like(e)
        loop = OuterLoop(self)
        while loop.should_continue():
            h = self._run_base(ridge, graph, candidates, p)
            e = xp.clip((e + h) / 2, 0.0, 1.0)
            b = self._blur(candidates, e)
            z = b
            for _ in range(self.partner_iter):
                g = ridge.fit(candidates, z)  # the outputs are 1 − g(X)
                z = simplex.project(g.outputs + b + reward / 2)
            u = xp.clip((u + g.outputs) / 2, 0.0, 1.0)
            previous, p = p, self._blur(candidates, u)
            loop.record(p, previous, candidates.n_rows)

        self._keep(g, space)
        self.label_distributions_ = candidates.as_output(z)
        self.train_output_ = ridge.train_output(candidates, g)
        self.n_iter_ = loop.n_iter

    def _run_base(
        self,
        ridge: Ridge,
        graph: AdaptiveGraph,
        candidates: Support,
        p: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Outputs of PL-AGGD, which starts with the confidences ``p`` and the initial graph."""
        reward = self.rho * candidates.preference()
        output = ridge.fit(candidates, p).outputs
        for _ in range(self.base_iter):
            graph = graph.refit(self.gamma, self.mu, p)
            target = output + reward / 2
            p = graph.smooth(p, target, self.mu, anchor=candidates.pair_weights)
            output = ridge.fit(candidates, p).outputs
        return output

    def _blur(self, candidates: Support, m: NDArray[np.float64]) -> NDArray[np.float64]:
        kappa = float(np.exp(-1)) if self.kappa is None else self.kappa
        xp = array_namespace(m)
        below = m - xp.take(candidates.largest(m), candidates.rows)  # so that nothing overflows
        return normalize_candidate_votes(candidates, xp.exp(kappa * below))
