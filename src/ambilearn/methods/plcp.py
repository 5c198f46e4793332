"""PLCP: a base method and a partner classifier that supervise each other alternately."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.outer_loop import LOOP_CONSTRAINTS, OuterLoop
from ambilearn._utils.sklearn_compat import Interval, StrOptions
from ambilearn.backend import Support
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.graph.neighbors import NEIGHBOR_COUNTS, NEIGHBORS_CONSTRAINT
from ambilearn.kernel.functions import KernelFunction
from ambilearn.methods._base_method import WrapperMixin
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.methods._kernel_classifier import RIDGES, KernelPartialLabelClassifier
from ambilearn.methods._votes import normalize_candidate_votes
from ambilearn.methods.plaggd import PLAGGD


@insert_shared_docs
class PLCP(WrapperMixin, KernelPartialLabelClassifier):
    r"""Partial-label learning with a partner classifier (PLCP).

    A base method learns which candidate is correct; a partner classifier :math:`g` learns which
    labels are *not* (:math:`Q`, one for labels that are not candidates). In each stage, each
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
    estimator : PartialLabelClassifier, default=None
        The base. None is :class:`~ambilearn.methods.plaggd.PLAGGD`, as in the paper, with the
        parameters below; each stage resumes it from the confidences P. Any other method is refitted
        in each stage to candidates with the weights P (times their own weights), and its
        ``label_distributions_`` are H.
    gamma : float, default=1.0
        Weight :math:`\gamma \ge 0` of reconstructing the features from the neighbors, in the
        default base.
    mu : float, default=1.0
        Weight :math:`\mu \ge 0` of reconstructing the confidences from the neighbors, in the
        default base.
    {rho}
    kappa : float, optional
        Sharpness :math:`\kappa > 0` of the blurred confidences. None, the default, is
        :math:`e^{-1}`, the value of the authors: confidences of 1 and 0 become 0.59 and 0.41.
    handover : {"confidences", "graph"}, default="confidences"
        How the default base continues after a stage. With "confidences", as in the paper, it fits
        its classifier to the confidences P of the partner. With "graph", as in the authors' code,
        it updates only its graph with P, and then replaces P by the confidences that follow from
        its previous classifier.
    base_iter : int, default=10
        Number of iterations of the default base in each stage.
    partner_iter : int, default=30
        Number of iterations of the partner in each stage.
    reg : float, default=0.05
        Ridge weight :math:`\lambda > 0` of the partner and of the default base.
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
    estimator_ : PartialLabelClassifier
        The base after the last stage; its attributes are those of the base, not of the partner.
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
    PLAGGD : The default base.
    PLCL : Also has a complementary classifier, but a single objective.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). Kernel, landmarks,
    ``rho`` and ``reg`` apply to the partner and to the default base; the neighbor graph belongs to
    the default base. Both share one factorization and keep the kernel matrix: 2·n²·8 bytes.
    Because the bias is free, ridge regression of 1 − Q gives 1 − g(X), so only Z is regressed.
    ``sample_weight`` requires a base that supports it. Attributes of the classifier, such as
    ``coef_``, are those of the partner.

    References
    ----------
    .. [1] Si, Jiang, Wang, Wang, Yang, Shen. Partial label learning with a partner. AAAI 2024.
    .. [2] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.

    Examples
    --------
    >>> from ambilearn import PLCP, SURE
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = PLCP(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> PLCP(estimator=SURE()).fit(X, y).transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        **KernelPartialLabelClassifier._parameter_constraints,
        **LOOP_CONSTRAINTS,
        "estimator": [PartialLabelClassifier, None],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "mu": [Interval(Real, 0, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "kappa": [Interval(Real, 0, None, closed="neither"), None],
        "handover": [StrOptions({"confidences", "graph"})],
        "base_iter": [Interval(Integral, 1, None, closed="left")],
        "partner_iter": [Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbors": NEIGHBORS_CONSTRAINT,
    }
    _tuning_grid = {"reg": RIDGES, "n_neighbors": NEIGHBOR_COUNTS}

    def __init__(
        self,
        *,
        estimator: PartialLabelClassifier | None = None,
        gamma: float = 1.0,
        mu: float = 1.0,
        rho: float = 2.0,
        kappa: float | None = None,
        handover: str = "confidences",
        base_iter: int = 10,
        partner_iter: int = 30,
        reg: float = 0.05,
        kernel: str | KernelFunction = "rbf",
        sigma: str | float = "mean",
        n_neighbors: int = 10,
        neighbors: Any = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        max_iter: int = 5,
        tol: float = 0.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.gamma = gamma
        self.mu = mu
        self.rho = rho
        self.kappa = kappa
        self.handover = handover
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

    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        # All are support vectors: E, B and P of the docstring, Z = 1 − Q and U = 1 − F.
        if not cache.keeps_results:
            cache = FitCache()  # so that partner and base share one factorization
        (regressor,), landmarks = self._factor(X, candidates, cache, self.reg)
        simplex = candidates.simplex
        reward = self.rho * candidates.preference()
        base = self._base(X, candidates, cache)

        e = p = base.start
        xp = array_namespace(e)
        u = xp.ones_like(e)
        loop = OuterLoop(self)
        while loop.should_continue():
            h = base.advance(p)
            e = xp.clip((e + h) / 2, 0.0, 1.0)
            b = self._blur(candidates, e)
            z = b
            for _ in range(self.partner_iter):
                g = regressor.fit(z)  # the outputs are 1 − g(X)
                z = simplex.project(g.outputs + b + reward / 2)
            u = xp.clip((u + g.outputs) / 2, 0.0, 1.0)
            previous, p = p, self._blur(candidates, u)
            loop.record(p, previous, candidates.n_rows)

        self._keep(X, g, landmarks)
        self.estimator_ = base.estimator
        self.label_distributions_ = candidates.as_output(z)
        self.train_output_ = regressor.train_output(g)
        self.n_iter_ = loop.n_iter

    def _blur(self, candidates: Support, m: NDArray[np.float64]) -> NDArray[np.float64]:
        kappa = float(np.exp(-1)) if self.kappa is None else self.kappa
        xp = array_namespace(m)
        below = m - xp.take(candidates.largest(m), candidates.rows)  # so that nothing overflows
        return normalize_candidate_votes(candidates, xp.exp(kappa * below))

    def _base(self, X: Any, candidates: Support, cache: FitCache) -> "_Base":
        if self.estimator is None:
            params = self.get_params(deep=False)
            shared = {name: params[name] for name in PLAGGD().get_params()}
            shared |= {"max_iter": self.base_iter, "tol": 0.0, "verbose": 0}
            if not isinstance(self.random_state, Integral):  # the same landmarks in every stage
                draw = check_random_state(self.random_state)
                shared["random_state"] = int(draw.randint(np.iinfo(np.int32).max))
            return _ResumedBase(PLAGGD(**shared), X, candidates, cache, self.handover == "graph")
        if self.handover == "graph":
            raise ValueError(
                "handover='graph' is only supported with the default base, PL-AGGD; estimator="
                f"{self.estimator!r} is refitted in each stage. Use handover='confidences' or "
                "estimator=None."
            )
        if get_tags(self.estimator).input_tags.pairwise != self._pairwise:
            raise ValueError(
                "PLCP and its estimator must both take a kernel matrix as X "
                "(kernel='precomputed'), or both features."
            )
        return _RefittedBase(self.estimator, X, candidates)


class _Base(Protocol):
    """The base of a fit: its initial confidences and its stages."""

    start: NDArray[np.float64]
    estimator: PartialLabelClassifier

    def advance(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Run a stage from the confidences ``p``; return the outputs for the candidates."""


class _ResumedBase:
    """PL-AGGD, resumed in each stage from the confidences of the partner."""

    def __init__(
        self,
        estimator: PLAGGD,
        X: Any,
        candidates: Support,
        cache: FitCache,
        keeps_output: bool,
    ) -> None:
        self.estimator = estimator
        self._fit_inputs = X, candidates, cache
        self._keeps_output = keeps_output
        self._graph, self.start = estimator._initial_graph(X, candidates, cache)
        self._output: NDArray[np.float64] | None = None
        estimator.classes_ = candidates.backend.asarray(candidates.classes)
        estimator.n_features_in_ = X.shape[1]

    def advance(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        _, candidates, _ = self._fit_inputs
        first_output = self._output if self._keeps_output else None
        self.estimator._resume(*self._fit_inputs, self._graph, p, first_output)
        self.estimator.transduction_ = candidates.best(self.estimator.label_distributions_)
        self._output = candidates.gather(self.estimator.train_output_)
        return self._output


class _RefittedBase:
    """Any method, refitted in each stage to candidates weighted with the partner's confidences."""

    def __init__(self, estimator: PartialLabelClassifier, X: Any, candidates: Support) -> None:
        self._unfitted = estimator
        self._X, self._candidates = X, candidates
        self.start = candidates.uniform()  # equal weights: the first stage is an ordinary fit

    def advance(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        candidates = self._candidates
        weights = to_numpy(candidates.relative_weights * p)
        weighted = replace(candidates.sets, weights=weights)
        self.estimator = clone(self._unfitted).fit(self._X, weighted)
        output: NDArray[np.float64] = candidates.gather(self.estimator.label_distributions_)
        return output
