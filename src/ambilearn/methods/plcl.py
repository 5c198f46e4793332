"""PL-CL: partial-label learning with a complementary classifier and an adaptive graph."""

from numbers import Real
from typing import NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ambilearn._utils.rounds import OuterLoop
from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.types import Array, Estimator, RandomState
from ambilearn.backend import Support
from ambilearn.graph.adaptive import AdaptiveGraph
from ambilearn.graph.neighbors import NEIGHBOR_COUNTS
from ambilearn.kernel.functions import KernelFunction
from ambilearn.kernel.ridge import RidgeFit
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.methods._kernel_classifier import RIDGES, WEIGHTS, KernelPartialLabelClassifier
from ambilearn.rows import TrainingRows


@insert_shared_docs
class PLCL(KernelPartialLabelClassifier):
    r"""Complementary classifier induced partial-label learning (PL-CL).

    An ordinary classifier learns from the candidate labels, a complementary classifier from the
    labels that are *not* candidates; their confidences :math:`P` and :math:`Q` are tied by
    :math:`P + Q \approx 1`, and an adaptive neighbor graph :math:`W`, shared by features and
    labels, smooths :math:`P`. The objective (Eq. 7 of [1]_, with :math:`W = G^\top`) is

    .. math::
        \min\ & \|\Phi w + \mathbf 1 b^\top - P\|^2 + \lambda\|w\|^2
        + \alpha \|\Phi \hat w + \mathbf 1 \hat b^\top - Q\|^2 + \lambda\|\hat w\|^2 \\
        & + \beta \|\mathbf 1 - P - Q\|^2 + \mu \|P - WP\|^2 + \gamma \|X - WX\|^2 \\
        \text{s.t.}\ & P\mathbf 1 = \mathbf 1,\ 0 \le P \le Y,\quad 1 - Y \le Q \le 1,\quad
        W\mathbf 1 = \mathbf 1,\ 0 \le W \le U

    with the candidate mask :math:`Y` and the neighbor mask :math:`U`. It is solved by alternating
    exact sub-problems, so the objective never increases. If candidates have weights, normalized
    per row to :math:`\Pi`, the objective has the additional term
    :math:`-\rho \langle P, \Pi \rangle`; equal weights change nothing.

    Parameters
    ----------
    alpha : float, default=0.5
        Weight :math:`\alpha > 0` of the complementary classifier's error.
    beta : float, default=0.5
        Weight :math:`\beta \ge 0` of the coupling :math:`P + Q \approx 1`.
    gamma : float, default=1.0
        Weight :math:`\gamma \ge 0` of reconstructing the features from the neighbors.
    mu : float, default=1.0
        Weight :math:`\mu \ge 0` of reconstructing the confidences from the neighbors.
    {rho}
    complementary : bool, default=True
        If False, fit no complementary classifier: :math:`\beta = 0` and no Q.
    graph : bool, default=True
        If False, use no graph: :math:`\mu = \gamma = 0` and no W; P is initialized uniformly.
    reg : float, default=0.03
        Ridge weight :math:`\lambda > 0` of both classifiers.
    {kernel}
    {sigma}
    {n_neighbors}
    {neighbors}
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
    complementary_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences Q that a label is *not* the correct one: one for labels that are not candidates
        (a sparse Q does not store them). Only with ``complementary``.
    graph_ : csr_array of shape (n, n)
        The graph W; row i has the weights that reconstruct training row i. Only with ``graph``.
    {train_output_}
    complementary_train_output_ : ndarray or csr_array of shape (n, l)
        Outputs of the complementary classifier on the training rows. Only with ``complementary``.
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
    ambilearn.candidates.as_candidates : Accepted forms of candidate sets.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). The classifier that
    predicts, and that ``coef_`` and ``train_output_`` describe, is the ordinary one.

    With the exact kernel, time grows with n³ and the two factorizations need 2·n²·8 bytes (a
    single one with ``alpha=1`` or ``complementary=False``). With m landmarks, time grows with n·m²
    and memory is n·m·8 bytes.

    With a sparse mask and landmarks, a linear kernel, or more than 1000 labels, no array of shape
    (n, l) is allocated. With the exact kernel, the fitted model then stores its n×n factorization
    instead of n×l coefficients; if there are fewer labels than rows, a dense mask gives a smaller
    model.

    As in the authors' code, the graph is built on rows scaled to unit length, which the paper does
    not specify. In the linear version the bias is the joint optimum; the formula in the paper gives
    it only for centered features.

    References
    ----------
    .. [1] Jia, Si, Zhang. Complementary classifier induced partial label learning. KDD 2023.
    .. [2] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = PLCL(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _computes_on_devices = True
    _parameter_constraints = {
        **KernelPartialLabelClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "complementary": ["boolean"],
        "graph": ["boolean"],
    }
    _tuning_grid = {
        **dict.fromkeys(("alpha", "beta", "gamma", "mu"), WEIGHTS),
        "reg": RIDGES,
        "n_neighbors": NEIGHBOR_COUNTS,
    }
    _n_factors = 2
    _paper_grid = dict.fromkeys(
        ("alpha", "beta", "gamma", "mu"), (0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0)
    )

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        beta: float = 0.5,
        gamma: float = 1.0,
        mu: float = 1.0,
        rho: float = 2.0,
        complementary: bool = True,
        graph: bool = True,
        reg: float = 0.03,
        kernel: str | KernelFunction = "rbf",
        sigma: str | float = "mean",
        n_neighbors: int = 10,
        neighbors: str | BaseEstimator = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.mu = mu
        self.rho = rho
        self.complementary = complementary
        self.graph = graph
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
        # Algorithm 1 of the paper. P and Q are support vectors with one entry per candidate. For
        # other labels P is 0, and Q is `q_off_support`, which is 1 after the first update.
        steps = PLCLSteps(candidates, PLCLWeights.of(self))
        space = self._space(rows, candidates)
        graph, p = None, candidates.uniform()
        if self.graph:
            graph, p = rows.adaptive_graph(
                candidates, self.n_neighbors, self.neighbors, of_kernel=self._pairwise
            )
        ridges = (self.reg, self.reg / self.alpha) if self.complementary else (self.reg,)
        ordinary, *others = space.ridges(*ridges)

        state, f_hat = steps.start(p, graph), None
        loop = OuterLoop(self)
        while loop.should_continue():
            f = ordinary.fit(candidates, state.p)
            if others:
                f_hat = others[0].fit(candidates, state.q, state.q_off_support)
            previous, state = state, steps.advance(state, f, f_hat)
            objective = steps.objective(state, f, f_hat)
            loop.record(state.p, previous.p, candidates.n_rows, objective)

        self._keep(f, space)
        self.label_distributions_ = candidates.as_output(state.p)
        self.train_output_ = ordinary.train_output(candidates, f)
        if f_hat is not None:
            self.complementary_distributions_ = candidates.as_output(state.q, off_support=1.0)
            self.complementary_train_output_ = others[0].train_output(candidates, f_hat)
        if state.graph is not None:
            self.graph_ = state.graph.output()
        self.n_iter_, self.objective_ = loop.n_iter, candidates.backend.asarray(loop.history)


class PLCLWeights(NamedTuple):
    """Weights of the objective of :class:`~ambilearn.methods.plcl.PLCL`, Eq. 7 of the paper."""

    alpha: float
    beta: float
    gamma: float
    mu: float
    rho: float
    reg: float

    @classmethod
    def of(cls, estimator: Estimator) -> Self:
        """Weights of an estimator; β = 0 without a complementary classifier."""
        beta = estimator.beta if estimator.complementary else 0.0
        names = cls._fields
        return cls(**{name: getattr(estimator, name) for name in names} | {"beta": beta})


class PLCLState(NamedTuple):
    """Variables of Algorithm 1 other than the classifiers.

    Parameters
    ----------
    p, q : ndarrays of shape (n_pairs,)
        Support vectors: P and Q of the candidates.
    q_off_support : float or ndarray of shape (n,)
        Q of labels that are not candidates; their P is 0.
    graph : AdaptiveGraph or None
        The graph W.
    """

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    q_off_support: Array | float
    graph: AdaptiveGraph | None


class PLCLSteps:
    """Updates of Q, W and P in Algorithm 1, and the objective.

    These steps need only some rows and their neighbors; only the classifiers need all rows. Fits
    in one process and distributed fits (:mod:`ambilearn.distributed`) share them.

    Parameters
    ----------
    candidates : Support
        Candidate pairs of the rows.
    weights : PLCLWeights
        Weights of the objective.
    """

    def __init__(self, candidates: Support, weights: PLCLWeights) -> None:
        self._weights = weights
        self._simplex = candidates.simplex
        self._row_weights = candidates.pair_weights
        self._reward = weights.rho * candidates.preference()
        # Eq. (Q ini): 0 for the candidates of row i and 1 / (l − |S_i|) for all other labels.
        xp = array_namespace(candidates.sizes)
        others = xp.clip(candidates.n_labels - candidates.sizes, min=1)
        self._first_q = 1.0 / xp.astype(others, xp.float64)

    def start(self, p: NDArray[np.float64], graph: AdaptiveGraph | None) -> PLCLState:
        """State before the first iteration."""
        return PLCLState(p, array_namespace(p).zeros_like(p), self._first_q, graph)

    def advance(self, state: PLCLState, f: RidgeFit, f_hat: RidgeFit | None) -> PLCLState:
        """Update Q, W and P, in this order, given new classifiers; Q only if there are two."""
        if f_hat is not None:
            state = state._replace(q=self.update_q(state.p, f_hat), q_off_support=1.0)
        if state.graph is not None:
            graph = state.graph.refit(self._weights.gamma, self._weights.mu, state.p)
            state = state._replace(graph=graph)
        return state._replace(p=self.update_p(state, f, f_hat))

    def update_q(self, p: NDArray[np.float64], f_hat: RidgeFit) -> NDArray[np.float64]:
        r"""Update Q in closed form.

        .. math:: Q = \operatorname{clip}_{[0, 1]}
                  \frac{\alpha \hat F + \beta (1 - P)}{\alpha + \beta}
        """
        alpha, beta = self._weights.alpha, self._weights.beta
        q = (alpha * f_hat.outputs + beta * (1 - p)) / (alpha + beta)
        return array_namespace(q).clip(q, 0.0, 1.0)

    def update_p(
        self, state: PLCLState, f: RidgeFit, f_hat: RidgeFit | None
    ) -> NDArray[np.float64]:
        r"""Update P: close to *O*, and smooth on the graph.

        .. math:: \min_P \|P - O\|^2 + \frac{\mu}{1 + \beta} \|P - WP\|^2, \qquad
                  O = \frac{F + \beta (1 - Q) + \tfrac\rho2 (\Pi - U)}{1 + \beta}

        with the candidate weights :math:`\Pi` and equal weights :math:`U`, both normalized per row;
        they only shift the target. Row weights multiply the first term.
        """
        beta = self._weights.beta
        target = f.outputs + self._reward / 2
        if f_hat is not None:
            target = (target + beta * (1 - state.q)) / (1 + beta)
        if state.graph is None:
            return self._simplex.project(target)
        smoothness = self._weights.mu / (1 + beta)
        return state.graph.smooth(state.p, target, smoothness, anchor=self._row_weights)

    def objective(self, state: PLCLState, f: RidgeFit, f_hat: RidgeFit | None) -> float:
        """Eq. 7 of the paper; a sum over rows, except for the norms of the classifiers."""
        weights = self._weights
        terms = classifier_terms(weights, f, state.p, f_hat, state.q)
        xp = array_namespace(state.p)
        terms -= float(xp.sum(self._row_weights * self._reward * state.p))
        if f_hat is not None:
            coupling = self._row_weights * (1 - state.p - state.q) ** 2
            terms += weights.beta * float(xp.sum(coupling))
        if state.graph is not None:
            terms += weights.mu * state.graph.label_roughness(state.p)
            terms += weights.gamma * state.graph.feature_roughness()
        return terms


def classifier_terms(
    weights: PLCLWeights,
    f: RidgeFit,
    p: NDArray[np.float64],
    f_hat: RidgeFit | None,
    q: NDArray[np.float64],
) -> float:
    """Terms of the objective for the classifiers: squared errors and norms."""
    terms = f.squared_error(p) + weights.reg * f.squared_norm
    if f_hat is not None:
        terms += weights.alpha * f_hat.squared_error(q, off_support=1.0)
        terms += weights.reg * f_hat.squared_norm
    return terms
