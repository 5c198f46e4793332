r"""The steps of PL-CL's Algorithm 1 that look at some rows only: Q, W and P.

The classifiers are global. Everything else belongs to rows and their neighbours, so a fit in one
process and a fit on many machines share this file.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ambilearn.candidates import CandidateSets
from ambilearn.graph.adaptive import AdaptiveGraph
from ambilearn.kernel.regression import SupportFit
from ambilearn.solvers import CandidateSimplex


class PLCLWeights(NamedTuple):
    """Weights of the objective of :class:`~ambilearn.methods.plcl.PLCL`, Eq. 7 of the paper."""

    alpha: float
    beta: float
    gamma: float
    mu: float
    reg: float

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Weights of an estimator; no tie without a complementary classifier."""
        beta = estimator.beta if estimator.complementary else 0.0
        return cls(estimator.alpha, beta, estimator.gamma, estimator.mu, estimator.reg)


class PLCLState(NamedTuple):
    """What Algorithm 1 alternates over, besides the classifiers.

    Parameters
    ----------
    p, q : ndarrays of shape (n_pairs,)
        P and Q on the candidates, support vectors.
    q_off_support : float or ndarray of shape (n,)
        Q off the candidates, where P is 0.
    graph : AdaptiveGraph or None
        The graph W.
    """

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    q_off_support: Any
    graph: AdaptiveGraph | None


class PLCLSteps:
    """The closed forms and sub-problems of Algorithm 1, for the rows of some candidate sets.

    Parameters
    ----------
    candidates : CandidateSets
        Candidate sets of the rows.
    weights : PLCLWeights
        Weights of the objective.
    """

    def __init__(self, candidates: CandidateSets, weights: PLCLWeights) -> None:
        self._weights = weights
        self._simplex = CandidateSimplex(candidates.indptr)
        # Eq. (Q ini): 1 / (l − |S_i|) off the candidates of row i, and 0 on them.
        self._first_q = 1.0 / np.maximum(candidates.n_labels - candidates.sizes, 1)

    def start(self, p: NDArray[np.float64], graph: AdaptiveGraph | None) -> PLCLState:
        """The state before the first round."""
        return PLCLState(p, np.zeros_like(p), self._first_q, graph)

    def advance(self, state: PLCLState, f: SupportFit, f_hat: SupportFit | None) -> PLCLState:
        """Q, W and P in this order, for new classifiers; Q only if there are two."""
        if f_hat is not None:
            state = state._replace(q=self.update_q(state.p, f_hat), q_off_support=1.0)
        if state.graph is not None:
            state = state._replace(graph=self.update_graph(state.p, state.graph))
        return state._replace(p=self.update_p(state, f, f_hat))

    def update_q(self, p: NDArray[np.float64], f_hat: SupportFit) -> NDArray[np.float64]:
        r"""The Q step, in closed form.

        .. math:: Q = \operatorname{clip}_{[0, 1]}
                  \frac{\alpha \hat F + \beta (1 - P)}{\alpha + \beta}
        """
        alpha, beta = self._weights.alpha, self._weights.beta
        return np.clip((alpha * f_hat.outputs + beta * (1 - p)) / (alpha + beta), 0, 1)

    def update_graph(self, p: NDArray[np.float64], graph: AdaptiveGraph) -> AdaptiveGraph:
        r"""The W step: minimise :math:`\gamma \|X - WX\|^2 + \mu \|P - WP\|^2`."""
        return graph.refit(self._weights.gamma, self._weights.mu, p)

    def update_p(
        self, state: PLCLState, f: SupportFit, f_hat: SupportFit | None
    ) -> NDArray[np.float64]:
        r"""The P step: near *O*, and smooth on the graph.

        .. math:: \min_P \|P - O\|^2 + \frac{\mu}{1 + \beta} \|P - WP\|^2, \qquad
                  O = \frac{F + \beta (1 - Q)}{1 + \beta}
        """
        beta = self._weights.beta
        target = f.outputs
        if f_hat is not None:
            target = (target + beta * (1 - state.q)) / (1 + beta)
        if state.graph is None:
            return self._simplex.project(target)
        return state.graph.smooth(state.p, target, weight=self._weights.mu / (1 + beta))

    def objective(self, state: PLCLState, f: SupportFit, f_hat: SupportFit | None) -> float:
        """Eq. 7 of the paper; a sum over rows, but for the norms of the classifiers."""
        weights = self._weights
        terms = classifier_terms(weights, f, state.p, f_hat, state.q)
        if f_hat is not None:
            terms += weights.beta * float(np.sum((1 - state.p - state.q) ** 2))
        if state.graph is not None:
            terms += weights.mu * state.graph.label_roughness(state.p)
            terms += weights.gamma * state.graph.feature_roughness()
        return terms


def classifier_terms(
    weights: PLCLWeights,
    f: SupportFit,
    p: NDArray[np.float64],
    f_hat: SupportFit | None,
    q: NDArray[np.float64],
) -> float:
    """The classifiers' terms of the objective: their errors and norms."""
    terms = f.squared_error(p) + weights.reg * f.squared_norm
    if f_hat is not None:
        terms += weights.alpha * f_hat.squared_error(q, off_support=1.0)
        terms += weights.reg * f_hat.squared_norm
    return terms
