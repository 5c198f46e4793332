"""The kernel (or linear) least-squares classifier inside PL-CL, PL-AGGD, LALO and SURE."""

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from ambilearn.adaptive_graph import AdaptiveGraph
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets
from ambilearn.kernels import cross_kernel, train_kernel
from ambilearn.solvers import KernelRidge, LinearRidge, RidgeFit

_BLOCK = 2**24  # kernel values held at once while predicting


class KernelPartialLabelClassifier(PartialLabelClassifier):
    """Base of the methods whose classifier is ridge regression of the confidences.

    A subclass has the parameters ``kernel`` and ``sigma``, calls :meth:`_factor` once,
    then solves as often as it likes, and hands its last fit to :meth:`_keep`.
    """

    _parameter_constraints = {
        "kernel": [StrOptions({"rbf", "linear", "precomputed"}), callable],
        "sigma": [StrOptions({"mean"}), Interval(Real, 0, None, closed="neither")],
    }

    def _validate_rows(self, X: Any, **options: Any) -> Any:
        X = super()._validate_rows(X, **options)
        if self._pairwise and options.get("reset", True):
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "kernel='precomputed' needs the square kernel matrix of the training rows as "
                    f"X; got shape {X.shape}."
                )
            _check_symmetric(X)
        return X

    def _factor(self, X: Any, *ridges: float) -> list[KernelRidge | LinearRidge]:
        """One regressor per ridge weight, all on the same features."""
        n, d = X.shape
        self.sigma_ = None
        # In the primal a linear model costs d³ instead of n³; both give the same optimum.
        self._primal = self.kernel == "linear" and d <= n
        if self._primal:
            return [LinearRidge(X, ridge) for ridge in ridges]
        K, self.sigma_ = self._train_kernel(X)
        if callable(self.kernel):
            _check_symmetric(K)
        # The last factor may take the place of a kernel matrix that is ours to destroy.
        return [
            KernelRidge(K, ridge, overwrite=not self._pairwise and i + 1 == len(ridges))
            for i, ridge in enumerate(ridges)
        ]

    def _train_kernel(self, X: Any) -> tuple[NDArray[np.float64], float | None]:
        """Kernel matrix of the training rows, and its bandwidth."""
        return train_kernel(X, self.kernel, self.sigma)

    def _keep(self, X: Any, fit: RidgeFit) -> None:
        """Store the classifier that predicts."""
        self.intercept_ = fit.intercept
        if self.kernel == "linear":
            self.coef_ = fit.coef if self._primal else X.T @ fit.coef
        else:
            self.dual_coef_ = fit.coef
            self.X_fit_ = None if self._pairwise else X

    def _start_graph(
        self, X: Any, candidates: CandidateSets
    ) -> tuple[AdaptiveGraph, NDArray[np.float64]]:
        """First graph of PL-CL and PL-AGGD, from the features, and the confidences from it."""
        graph = AdaptiveGraph(X, candidates, self.n_neighbors, precomputed=self._pairwise)
        graph.update(feature_weight=1.0)
        return graph, graph.smooth(candidates.uniform(), target=None, weight=1.0)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        if hasattr(self, "coef_"):
            return X @ self.coef_ + self.intercept_
        if self._pairwise:
            return X @ self.dual_coef_ + self.intercept_
        scores = np.empty((X.shape[0], len(self.intercept_)))
        for rows in gen_batches(X.shape[0], max(1, _BLOCK // len(self.dual_coef_))):
            K = cross_kernel(X[rows], self.X_fit_, self.kernel, self.sigma_)
            scores[rows] = K @ self.dual_coef_ + self.intercept_
        return scores

    @property
    def _pairwise(self) -> bool:
        return self.kernel == "precomputed"

    @abstractmethod
    def _fit(self, X: Any, candidates: CandidateSets) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.input_tags.sparse = not self._pairwise
        return tags


def _check_symmetric(K: NDArray[np.float64]) -> None:
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max()):
        raise ValueError("The kernel matrix of the training rows is not symmetric.")
