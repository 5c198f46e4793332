"""The kernel (or linear) least-squares classifier inside PL-CL, PL-AGGD, LALO, SURE and PLCP."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from ambilearn._utils.fit_cache import FitCache, content_key, seed_key
from ambilearn._utils.sklearn_compat import Interval, StrOptions
from ambilearn.backend import HOST, Backend, Support
from ambilearn.backend.memory import has_memory, require_memory
from ambilearn.base import WeightedRowsClassifier, bind_cache
from ambilearn.candidates import CandidateSets
from ambilearn.graph.adaptive import AdaptiveGraph, initial_graph, local_geometry
from ambilearn.kernel.functions import KernelFunction, cross_kernel, train_kernel
from ambilearn.kernel.landmarks import (
    LANDMARKS_CONSTRAINT,
    LandmarkFeatures,
    choose_landmarks,
    sampled_sigma,
)
from ambilearn.kernel.many_labels import (
    MAX_DENSE_LABELS,
    FactoredCoefficients,
    ManyLabelRegressor,
)
from ambilearn.kernel.regression import DualRegressor, PrimalRegressor, SupportFit
from ambilearn.solvers import KernelRidge, Moments, PrimalRidge
from ambilearn.solvers.centering import column_centers
from ambilearn.validation import check_row_weights

# Values in tuning grids, of the weights in an objective and of the ridge weight.
WEIGHTS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)
RIDGES = (0.001, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0)

Regressor = DualRegressor | ManyLabelRegressor | PrimalRegressor


class KernelPartialLabelClassifier(WeightedRowsClassifier):
    """Base of the methods whose classifier is ridge regression of the confidences.

    A subclass has the parameters ``kernel`` and ``sigma``, and for a low-rank kernel also
    ``n_landmarks``, ``landmarks`` and ``random_state``. Its ``_fit`` calls :meth:`_factor` once,
    uses the regressors any number of times, and passes the last fit to :meth:`_keep`.
    """

    reg: float
    kernel: str | KernelFunction
    sigma: str | float
    n_landmarks: int | None = None

    _parameter_constraints = {
        "kernel": [StrOptions({"rbf", "linear", "precomputed"}), callable],
        # The square of sigma and its inverse must be in the range of floating point.
        "sigma": [StrOptions({"mean"}), Interval(Real, 1e-150, 1e150, closed="both")],
        "n_landmarks": [None, LANDMARKS_CONSTRAINT],
        "landmarks": [StrOptions({"kmeans", "uniform"})],
        "random_state": ["random_state"],
    }

    @property
    def _ridges(self) -> tuple[float, ...]:
        """Distinct ridge weights of the regressors; each needs a factorization."""
        return (self.reg,)

    def _ridge_method(self) -> Any:
        return clone(self)

    def _check_device_support(self, X: Any) -> None:
        if self._pairwise:
            raise ValueError(
                "kernel='precomputed' does not support device arrays: pass the features and a "
                "kernel function, or the kernel matrix as a NumPy array."
            )
        super()._check_device_support(X)

    def _validate_rows(self, X: Any, **options: Any) -> Any:
        X = super()._validate_rows(X, **options)
        if self._pairwise and options.get("reset", True):
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "kernel='precomputed' requires X to be the square kernel matrix of the "
                    f"training rows; got shape {X.shape}."
                )
            if self.n_landmarks is not None:
                raise ValueError(
                    "n_landmarks is not supported with kernel='precomputed', which provides the "
                    "full kernel matrix: set n_landmarks=None."
                )
            _check_symmetric(X)
        return X

    def _factor(
        self, X: Any, candidates: Support, cache: FitCache, *ridges: float
    ) -> tuple[list[Regressor], LandmarkFeatures | None]:
        """Choose the kernel; one regressor per ridge weight, and the landmarks if there are any."""
        self.sigma_: float | None = None
        key: tuple[Any, ...] = content_key(self.kernel), self.sigma
        one_factorization = self._check_memory(X, candidates, cache, key, ridges)
        if self._primal(X):
            return self._factor_features(X, candidates, cache, ridges, ("linear",)), None
        if self.n_landmarks is not None and self.kernel != "linear":
            key = *key, self.n_landmarks, self.landmarks, seed_key(self.random_state)
            landmarks, features = cache.get_or_compute(
                "features", key, self._landmark_features, X, self.n_landmarks, candidates
            )
            self.sigma_ = landmarks.sigma
            return self._factor_features(features, candidates, cache, ridges, key), landmarks

        K, self.sigma_ = cache.get_or_compute("kernel", key, self._train_kernel, X, candidates)
        many_labels = candidates.sets.sparse_mask and candidates.n_labels > MAX_DENSE_LABELS
        regressor: Any = ManyLabelRegressor if many_labels else DualRegressor
        factorized = ridges[:1] if one_factorization else ridges
        solvers = self._factor_kernel(K, candidates, cache, factorized, key)
        solvers += [solvers[0].with_ridge(ridge) for ridge in ridges[len(solvers) :]]
        return [regressor(each, candidates) for each in solvers], None

    def _factor_kernel(
        self,
        K: NDArray[np.float64],
        candidates: Support,
        cache: FitCache,
        ridges: tuple[float, ...],
        key: tuple[Any, ...],
    ) -> list[KernelRidge]:
        """Factorize the kernel matrix for each ridge weight, the last time in place if allowed."""
        in_place = self._owns_kernel and not cache.keeps_results
        weights, factorize = candidates.row_weights, candidates.backend.factorize
        return [
            cache.get_or_compute(
                "factorization",
                (*key, ridge),
                KernelRidge,
                *(K, ridge, in_place and ridge == ridges[-1], weights, factorize),
            )
            for ridge in ridges
        ]

    def _check_memory(
        self,
        X: Any,
        candidates: Support,
        cache: FitCache,
        key: tuple[Any, ...],
        ridges: tuple[float, ...],
    ) -> bool:
        """Raise if memory is too small; whether it is enough for only one factorization."""

        def needed(ridges: tuple[float, ...]) -> int:
            """Bytes to allocate for kernel and factorizations that are not in the cache."""
            factors = [("factorization", (*key, ridge)) for ridge in ridges]
            held = sum(cache.holds(*each) for each in [("kernel", key), *factors])
            kept = cache.keeps_results or not self._owns_kernel
            n_matrices = max(0, len(ridges) + kept - held)
            return self._bytes_of_fit(X.shape[1], candidates, n_matrices)

        if has_memory(X, needed(ridges)):
            return False
        require_memory(X, needed(ridges[:1]), low_rank=self._rank(*X.shape) is not None)
        return True

    def _rank(self, n_rows: int, n_features: int) -> int | None:
        """Number of columns of the features that replace the kernel matrix; None without them."""
        if self.kernel == "linear":
            return n_features if n_features <= n_rows else None
        return self.n_landmarks

    def _make_regressor(self, X: Any, sets: CandidateSets, cache: FitCache) -> Regressor:
        """Regressor of a fit to these rows."""
        self._validate_params()
        X = self._validate_rows(X, ensure_min_samples=2)
        sets = replace(sets, row_weights=check_row_weights(None, X, sets.row_weights))
        bind_cache(cache, X, sets)
        candidates = self._choose_backend(X).support(sets)
        (regressor,), _ = self._factor(X, candidates, cache, self.reg)
        return regressor

    def _factor_features(
        self,
        features: Any,
        candidates: Support,
        cache: FitCache,
        ridges: tuple[float, ...],
        key: tuple[Any, ...],
    ) -> list[Regressor]:
        rows = features, candidates.row_weights
        moments = cache.get_or_compute("moments", key, Moments.of, *rows)
        factored = [
            cache.get_or_compute(
                "factorization",
                (*key, ridge),
                PrimalRidge,
                *(moments, ridge, candidates.backend.factorize),
            )
            for ridge in ridges
        ]
        return [PrimalRegressor(features, ridge, candidates) for ridge in factored]

    def _primal(self, X: Any) -> bool:
        # The primal problem of a linear model costs d³ instead of n³, with the same optimum.
        return self.kernel == "linear" and self._rank(*X.shape) is not None

    def _train_kernel(
        self, X: Any, candidates: Support
    ) -> tuple[NDArray[np.float64], float | None]:
        """Kernel matrix of the training rows, and the bandwidth."""
        K, sigma = train_kernel(
            X, self.kernel, self.sigma, candidates.row_weights, backend=candidates.backend
        )
        if callable(self.kernel):
            _check_symmetric(K)
        return K, sigma

    def _landmark_features(
        self, X: Any, n_landmarks: int, candidates: Support
    ) -> tuple[LandmarkFeatures, NDArray[np.float64]]:
        """Map from rows to low-rank features, and the features of the training rows."""
        low_rank = self._landmark_map(X, n_landmarks, candidates.row_weights, candidates.backend)
        return low_rank, low_rank.transform(X)

    def _landmark_map(
        self,
        X: Any,
        n_landmarks: int,
        row_weights: Any | None = None,
        backend: Backend = HOST,
    ) -> LandmarkFeatures:
        """Map from rows to low-rank features; computed from a sample of X if X is large."""
        sigma = None
        if self.kernel == "rbf":
            given = isinstance(self.sigma, Real)
            sigma = (
                float(self.sigma)
                if given
                else sampled_sigma(X, self.random_state, row_weights, backend)
            )
        landmarks = choose_landmarks(X, n_landmarks, self.landmarks, self.random_state, backend)
        return LandmarkFeatures(landmarks, self.kernel, sigma, backend)

    def _keep(self, X: Any, fit: SupportFit, landmarks: LandmarkFeatures | None) -> None:
        """Store the fitted classifier for prediction."""
        self.intercept_ = fit.intercept
        if self.kernel == "linear" and not isinstance(fit.coef, FactoredCoefficients):
            # One row per label, as in scikit-learn, so that its feature selection works.
            self.coef_ = (fit.coef if self._primal(X) else X.T @ fit.coef).T
            if not self._primal(X):  # the kernel is that of centered rows
                self.intercept_ = fit.intercept - self.coef_ @ column_centers(X)
        elif landmarks is not None:
            self.dual_coef_ = landmarks.whitening @ fit.coef
            # The cache may share these landmarks with other fits.
            self.X_fit_ = _copy(landmarks.landmarks)
        else:
            self.dual_coef_ = fit.coef
            self.X_fit_ = None if self._pairwise else X

    def _initial_graph(
        self, X: Any, candidates: Support, cache: FitCache
    ) -> tuple[AdaptiveGraph, NDArray[np.float64]]:
        """Initial graph of PL-CL and PL-AGGD, built from the features, and its confidences."""
        key = self.n_neighbors, content_key(self.neighbors), self._pairwise
        inputs = X, candidates, self.n_neighbors, self._pairwise, self.neighbors
        geometry = cache.get_or_compute("geometry", key, local_geometry, *inputs)
        return cache.get_or_compute("graph", key, initial_graph, geometry, candidates)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        scores: NDArray[np.float64]
        if hasattr(self, "coef_"):
            scores = X @ self.coef_.T + self.intercept_
        elif self._pairwise:
            scores = X @ self.dual_coef_ + self.intercept_
        else:
            backend, parts = self._choose_backend(X), []
            for rows in backend.blocks(X, self.dual_coef_.shape[0]):
                K = cross_kernel(
                    X[rows, ...], self.X_fit_, self.kernel, self.sigma_, backend=backend
                )
                parts.append(K @ self.dual_coef_ + self.intercept_)
            scores = array_namespace(self.intercept_).concat(parts)
        return scores

    @property
    def _pairwise(self) -> bool:
        return self.kernel == "precomputed"

    @property
    def _owns_kernel(self) -> bool:
        """Whether the fit may overwrite the kernel matrix; a callable may store its result."""
        return self.kernel in ("rbf", "linear")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.input_tags.sparse = not self._pairwise
        return tags


def _copy(X: Any) -> Any:
    return X.copy() if sparse.issparse(X) else array_namespace(X).asarray(X, copy=True)


def _check_symmetric(K: NDArray[np.float64]) -> None:
    xp = array_namespace(K)
    allowed = 1e-10 * xp.max(xp.abs(K)) + 1e-8 * xp.abs(K)
    if not xp.all(xp.abs(K - xp.matrix_transpose(K)) <= allowed):
        raise ValueError(
            "The kernel matrix of the training rows is not symmetric: k(x, z) and k(z, x) differ. "
            "Pass a symmetric matrix, for instance (K + K.T) / 2."
        )
