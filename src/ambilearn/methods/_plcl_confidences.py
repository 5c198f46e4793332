r"""P, Q and W of PL-CL: the steps of its Algorithm 1 that look at some rows only.

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

    def of_classifiers(
        self,
        f: SupportFit,
        p: NDArray[np.float64],
        f_hat: SupportFit | None,
        q: NDArray[np.float64],
    ) -> float:
        """The classifiers' terms of the objective: their errors and norms."""
        terms = f.squared_error(p) + self.reg * f.squared_norm
        if f_hat is not None:
            terms += self.alpha * f_hat.squared_error(q, fill=1.0) + self.reg * f_hat.squared_norm
        return terms


class PLCLConfidences:
    """Confidences of some rows, and the graph between them.

    Parameters
    ----------
    candidates : CandidateSets
        Candidate sets of the rows.
    weights : PLCLWeights
        Weights of the objective.
    graph : AdaptiveGraph or None
        The graph of the rows; it must not be used elsewhere, for it changes.
    p : ndarray of shape (n_pairs,)
        First confidences.

    Attributes
    ----------
    p, q : ndarrays of shape (n_pairs,)
        P and Q on the candidates.
    elsewhere : float or ndarray of shape (n,)
        Q off the candidates, where P is 0.
    """

    def __init__(
        self,
        candidates: CandidateSets,
        weights: PLCLWeights,
        graph: AdaptiveGraph | None,
        p: NDArray[np.float64],
    ) -> None:
        self._weights = weights
        self._graph = graph
        self._simplex = CandidateSimplex(candidates.indptr)
        self.p, self.q = p, np.zeros_like(p)
        # Eq. (Q ini): 1 / (l − |S_i|) off the candidates of row i, and 0 on them.
        self.elsewhere: Any = 1.0 / np.maximum(candidates.n_labels - candidates.sizes, 1)

    def update(self, f: SupportFit, f_hat: SupportFit | None) -> None:
        r"""Update Q, the graph and P, in this order, for new classifiers; Q only if there are two.

        .. math:: Q = \operatorname{clip}_{[0, 1]}
                  \frac{\alpha \hat F + \beta (1 - P)}{\alpha + \beta}, \qquad
                  O = \frac{F + \beta (1 - Q)}{1 + \beta}

        *W* rebuilds features and the last *P*; then *P* is near *O* and smooth on *W*.
        """
        alpha, beta, gamma, mu, _ = self._weights
        target = f.outputs
        if f_hat is not None:
            self.q = np.clip((alpha * f_hat.outputs + beta * (1 - self.p)) / (alpha + beta), 0, 1)
            self.elsewhere = 1.0
            target = (target + beta * (1 - self.q)) / (1 + beta)
        if self._graph is None:
            self.p = self._simplex.project(target)
        else:
            self._graph.update(gamma, mu, self.p)
            self.p = self._graph.smooth(self.p, target, weight=mu / (1 + beta))

    def objective(self, f: SupportFit, f_hat: SupportFit | None) -> float:
        """Eq. 7 of the paper; a sum over rows, but for the norms of the classifiers."""
        weights = self._weights
        terms = weights.of_classifiers(f, self.p, f_hat, self.q)
        if f_hat is not None:
            terms += weights.beta * float(np.sum((1 - self.p - self.q) ** 2))
        if self._graph is not None:
            terms += weights.mu * self._graph.label_roughness(self.p)
            terms += weights.gamma * self._graph.feature_roughness()
        return terms
