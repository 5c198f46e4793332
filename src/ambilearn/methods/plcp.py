"""PLCP: a base method and a partner classifier that supervise each other in turn."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.sklearn_compat import Interval, StrOptions
from ambilearn.backend import Support
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.graph.neighbors import NEIGHBORS_CONSTRAINT
from ambilearn.kernel.functions import KernelFunction
from ambilearn.methods._base_method import WrapperMixin
from ambilearn.methods._kernel_classifier import KernelPartialLabelClassifier
from ambilearn.methods._outer_loop import LOOP_CONSTRAINTS, OuterLoop
from ambilearn.methods._tuning import NEIGHBOR_COUNTS, RIDGES
from ambilearn.methods._votes import normalize_candidate_votes
from ambilearn.methods.plaggd import PLAGGD


class PLCP(WrapperMixin, KernelPartialLabelClassifier):
    r"""Partial-label learning with a partner classifier (PLCP).

    A base method learns which candidate is right, a partner classifier :math:`g` which labels are
    *not* (:math:`Q`, one off the candidates). In stages each is told what the other believes,
    blurred, so that neither becomes too sure of a mistake [1]_:

    .. math::
        E &\leftarrow \tfrac12 (E + H), \quad B \leftarrow \operatorname{blur}(E)
        && \text{the base's outputs } H \\
        g, Q &\leftarrow \arg\min\ \|g(X) - Q\|^2 + \lambda \|g\|^2 + 2 \langle B, Q \rangle
        && \text{s.t. } Q\mathbf 1 = l - 1,\ 1 - Y \le Q \le 1 \\
        F &\leftarrow \tfrac12 (F + g(X)), \quad P \leftarrow \operatorname{blur}(1 - F)
        && \text{from which the base goes on}

    where :math:`\operatorname{blur}(M)` is :math:`\exp(\kappa M)` on the candidates, divided by
    its sum in each row, E is clipped to :math:`[0, Y]` and F to :math:`[1 - Y, 1]`. The partner
    predicts: the label of smallest :math:`g`. With :math:`Z = 1 - Q` its problem is ridge
    regression in turn with a projection of :math:`1 - g(X) + B` onto the candidate simplices.

    Parameters
    ----------
    estimator : PartialLabelClassifier, default=None
        The base. None stands for :class:`~ambilearn.methods.plaggd.PLAGGD`, the authors' example,
        with the parameters below: each stage resumes it from the confidences P. Other methods
        cannot be resumed; one of those is fitted anew in each stage to candidates whose weights
        are P (times their own), and what its ``label_distributions_`` say is H.
    gamma : float, default=1.0
        Weight :math:`\gamma \ge 0` of rebuilding the features from the neighbors, in the default
        base.
    mu : float, default=1.0
        Weight :math:`\mu \ge 0` of rebuilding the confidences from the neighbors, in the default
        base.
    rho : float, default=2.0
        Weight :math:`\rho \ge 0` of the candidates' own weights, where y has any, in the partner
        and the default base. The paper has none.
    kappa : float, optional
        How much is left of differences after blurring, :math:`\kappa > 0`; None, the default, is
        the authors' :math:`e^{-1}`: a confidence of one beside a zero becomes 0.59 beside 0.41.
    handover : {"confidences", "graph"}, default="confidences"
        How the default base goes on after a stage. As the paper means it, with a classifier of
        the partner's confidences P. In the authors' code the base first replaces them by what
        follows from its own old classifier, so that only its graph has seen them: "graph".
    base_iter : int, default=10
        Rounds of the default base in each stage.
    partner_iter : int, default=30
        Rounds of the partner in each stage.
    reg : float, default=0.05
        Ridge weight :math:`\lambda > 0` of the partner and of the default base.
    kernel : {"rbf", "linear", "precomputed"} or callable, default="rbf"
        Kernel of the partner and of the default base, as in :class:`~ambilearn.methods.plcl.PLCL`.
    sigma : "mean" or float, default="mean"
        Bandwidth of the Gaussian kernel: a number, or the mean pairwise distance of the training
        rows.
    n_neighbors : int, default=10
        Neighbors in the graph of the default base. Fewer are used, with a warning, when there are
        not that many rows.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How they are searched; see :class:`~ambilearn.graph.neighbors.NeighborSearch`.
    n_landmarks : int, optional
        Number of landmarks of a low-rank kernel [2]_, for the partner and the default base. None,
        the default, is the exact kernel.
    landmarks : {"kmeans", "uniform"}, default="kmeans"
        Landmarks are centers of k-means, or rows drawn at random.
    max_iter : int, default=5
        Limit of stages.
    tol : float, default=0.0
        The stages end when P changes by at most this, :math:`\|P_t - P_{t-1}\|_F / \sqrt n`. With
        0, the default, there are ``max_iter`` stages, and never a warning.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.
    verbose : int, default=0
        Print a line per stage.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in the order of the columns below.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        The partner's confidences :math:`Z = 1 - Q` of the training rows: zero off the candidates,
        rows sum to one.
    transduction_ : ndarray of shape (n,)
        Disambiguated label of each training row: the candidate of largest confidence.
    estimator_ : PartialLabelClassifier
        The base as the last stage left it, with its own opinion in all attributes.
    train_output_ : ndarray or csr_array of shape (n, l)
        The partner's outputs :math:`1 - g(X)` on the training rows.
    n_iter_ : int
        Stages done.
    sigma_, coef_, dual_coef_, intercept_, X_fit_
        The partner, as in :class:`~ambilearn.methods.plcl.PLCL`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X was a data frame with string column names.

    See Also
    --------
    PLAGGD : The default base.
    PLCL : Has a complementary classifier, too, but one objective for all.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). The partner and the
    default base share one factorization, besides which the kernel matrix is kept: 2·n²·8 bytes.
    A ridge regression with a free bias turns the targets 1 − Q into the outputs 1 − g(X): so Z
    alone is regressed. Where rows have weights, the base must have a use for them.

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
        return normalize_candidate_votes(candidates, array_namespace(m).exp(kappa * m))

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
                "handover='graph' is a way to resume the default base, PL-AGGD, and estimator="
                f"{self.estimator!r} is fitted anew in each stage: leave handover at its default, "
                "or estimator at None."
            )
        return _RefittedBase(self.estimator, X, candidates)


class _Base(Protocol):
    """The base of a fit: what it starts from, and its stages."""

    start: NDArray[np.float64]
    estimator: PartialLabelClassifier

    def advance(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """A stage from the confidences ``p`` on; the base's outputs on the candidates."""


class _ResumedBase:
    """PL-AGGD, which goes on from the partner's confidences."""

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
    """Any method, fitted in each stage to candidates weighted with the partner's confidences."""

    def __init__(self, estimator: PartialLabelClassifier, X: Any, candidates: Support) -> None:
        self._unfitted = estimator
        self._X, self._candidates = X, candidates
        self.start = candidates.uniform()  # so the first stage is the method on its own

    def advance(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        candidates = self._candidates
        weights = to_numpy(candidates.relative_weights * p)
        weighted = replace(candidates.sets, weights=weights)
        self.estimator = clone(self._unfitted).fit(self._X, weighted)
        output: NDArray[np.float64] = candidates.gather(self.estimator.label_distributions_)
        return output
