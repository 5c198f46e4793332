"""The training rows of a fit, and what depends on them alone.

A fit makes its :class:`TrainingRows` and drops them at its end. Whoever fits several times to the
same rows (a search, an ensemble, a review) makes them once, and each fit reuses what an earlier one
has computed. Candidate sets are not part of them: they may differ between the fits.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ambilearn._utils.types import Array, Matrix, RandomState
from ambilearn.backend import Backend, Support, choose_backend, index_rows
from ambilearn.backend.device_arrays import is_out_of_memory
from ambilearn.candidates import CandidateSets
from ambilearn.graph.adaptive import AdaptiveGraph, LocalGeometry, initial_graph
from ambilearn.graph.neighbors import Neighbors, find_neighbors, usable_neighbors
from ambilearn.kernel.functions import KernelFunction, train_kernel
from ambilearn.kernel.leave_one_out import Ridge
from ambilearn.kernel.ridge import DualRidge
from ambilearn.shared_results import NotReproducible, SharedResults

if TYPE_CHECKING:
    from ambilearn.kernel.landmarks import LandmarkFeatures

T = TypeVar("T")


class TrainingRows:
    """Checked training rows, and what is computed from them.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
        Rows that no caller changes; a kernel matrix for ``kernel="precomputed"``. A data frame if
        the members of an ensemble use its columns.
    backend : Backend, optional
        Backend of X.
    feature_names : array of shape (d,), optional
        Names of the columns, if X was a data frame with names.
    shared : bool, default=False
        Whether several fits use them, which then share results. Rows of a single fit keep nothing.

    Attributes
    ----------
    results : SharedResults or None
        What the fits share.
    row_weights : array of shape (n,) or None
        Weights of the rows in this fit.
    weights_key, sets_key : str
        Part of the keys of results that depend on the weights, or on the candidate sets.
    """

    def __init__(
        self,
        X: Matrix,
        backend: Backend | None = None,
        *,
        feature_names: Array | None = None,
        shared: bool = False,
    ) -> None:
        self.X = X
        self.backend = choose_backend(X) if backend is None else backend
        self.feature_names = feature_names
        self.results = SharedResults() if shared else None
        self.row_weights: Array | None = None
        self.weights_key = self.sets_key = ""

    @property
    def keep_results(self) -> bool:
        """Whether results are kept for another fit."""
        return self.results is not None and self.results.keeps

    def release(self) -> None:
        """Before the last fit: drop each result when it is used, and keep no others."""
        if self.results is not None:
            self.results.keeps = False

    # --- other rows -----------------------------------------------------------------------------

    def for_sets(self, sets: CandidateSets) -> tuple["TrainingRows", Support]:
        """The rows with the weights of a fit to these candidate sets, and their candidate pairs.

        They share what does not depend on weights or sets with the other fits.
        """
        rows = copy(self)
        if self.results is None:
            support = self.backend.support(sets)
        else:
            rows.weights_key = joblib.hash(sets.row_weights)
            arrays = sets.classes, sets.indptr, sets.labels, sets.weights, sets.sparse_mask
            rows.sets_key = joblib.hash((*arrays, rows.weights_key))
            support = self.once(("support", rows.sets_key), self.backend.support, sets)
        rows.row_weights, rows.feature_names = support.row_weights, None
        return rows, support

    def take(self, index: NDArray[np.intp], columns: NDArray[np.intp] | None = None) -> Self:
        """Some of the rows, without results: neighbors and bandwidth of a fold are its own.

        ``columns`` are those of a kernel matrix.
        """
        X = index_rows(self.X, index)
        X = X if columns is None else X[:, columns]
        return type(self)(X, feature_names=self.feature_names, shared=self.results is not None)

    # --- results --------------------------------------------------------------------------------

    def once(self, key: tuple[Any, ...], function: Callable[..., T], *inputs: Any) -> T:
        """Result of ``function(*inputs)``, kept if the rows are shared; do not modify it.

        ``key`` has everything that the result depends on besides the rows.
        """
        if self.results is None:
            return function(*inputs)
        return self.results.get(key, function, *inputs)

    def kernel(
        self,
        kernel: str | KernelFunction,
        sigma: str | float = "mean",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        random_state: RandomState = None,
    ) -> "KernelSpace":
        """Kernel of the rows: features if it is linear or has landmarks, else the matrix."""
        if kernel == "linear" and self.X.shape[1] <= self.X.shape[0]:
            # The primal problem costs d³ instead of n³, with the same optimum.
            return KernelSpace(self, ("linear",), features=self.X)
        key: tuple[Any, ...] = kernel, sigma
        weights = self.row_weights
        if kernel == "rbf" and not isinstance(sigma, Real):
            key = *key, self.weights_key
        if n_landmarks is not None and kernel != "linear":
            seed = random_state if isinstance(random_state, Integral) else NotReproducible
            key = "features", *key, n_landmarks, landmarks, seed
            how = n_landmarks, kernel, sigma, landmarks, random_state, weights, self.backend
            low_rank, features = self.once(key, _features, self.X, *how)
            return KernelSpace(self, key, low_rank.sigma, features=features, landmarks=low_rank)
        key = "kernel", *key
        K, sigma_ = self.once(key, train_kernel, self.X, kernel, sigma, weights, self.backend)
        # A function may store its result, and a given matrix belongs to the caller.
        is_new = kernel in ("rbf", "linear")
        return KernelSpace(self, key, sigma_, matrix=K, may_overwrite=is_new)

    def neighbors(
        self, n_neighbors: int, neighbors: str | BaseEstimator = "auto", *, form: str = "features"
    ) -> "Neighbors":
        """The nearest other rows of each row; n − 1, with a warning, if there are no more.

        ``form`` is "features", "unit" for rows scaled to unit length, or "kernel" if X is a kernel
        matrix, for distances in its feature space.
        """
        k = usable_neighbors(n_neighbors, self.X.shape[0])
        key = "neighbors", k, neighbors, form
        return self.once(key, find_neighbors, self.X, k, neighbors, form, self.backend)

    def adaptive_graph(
        self, candidates: Support, n_neighbors: int, neighbors: Any, *, of_kernel: bool
    ) -> tuple[AdaptiveGraph, Array]:
        """Initial graph of PL-CL and PL-AGGD, built from the features, and its confidences."""
        k = usable_neighbors(n_neighbors, self.X.shape[0])
        key = k, neighbors, of_kernel
        compute = partial(LocalGeometry, precomputed=of_kernel, neighbors=neighbors)
        geometry = self.once(("geometry", *key), compute, self.X, k, self.backend)
        return self.once(("graph", *key, self.sets_key), initial_graph, geometry, candidates)


@dataclass(eq=False, repr=False)
class KernelSpace:
    """The kernel of the rows of a fit: its matrix, or features with the same inner products.

    Parameters
    ----------
    rows : TrainingRows
        The rows.
    key : tuple
        What the kernel depends on besides the rows.
    sigma : float, optional
        Bandwidth of a Gaussian kernel.
    matrix : array of shape (n, n), optional
        The kernel matrix.
    features : array or csr_array of shape (n, m), optional
        Features in place of the matrix.
    landmarks : LandmarkFeatures, optional
        Map from rows to features.
    may_overwrite : bool, default=False
        Whether the matrix was computed here.
    """

    rows: TrainingRows
    key: tuple[Any, ...]
    sigma: float | None = None
    matrix: Array | None = None
    features: Matrix = None
    landmarks: "LandmarkFeatures | None" = None
    may_overwrite: bool = False

    def ridges(self, *weights: float) -> list[Ridge]:
        """A solver for each ridge weight; equal weights share one, with one factorization."""
        distinct = list(dict.fromkeys(weights))
        factor = self._factor_matrix if self.features is None else self._factor_moments
        found = factor(distinct)
        return [found[distinct.index(weight)] for weight in weights]

    def _factor_moments(self, weights: list[float]) -> list[Ridge]:
        from ambilearn.kernel.primal import Moments, PrimalRidge  # not for an exact kernel

        rows, key = self.rows, (*self.key, self.rows.weights_key)
        moments = rows.once(("moments", *key), Moments.of, self.features, rows.row_weights)
        how = rows.backend.factorize, self.features, rows.row_weights
        return [
            rows.once(("factor", *key, weight), PrimalRidge, moments, weight, *how)
            for weight in weights
        ]

    def _factor_matrix(self, weights: list[float]) -> list[Ridge]:
        """A factorization for each weight, or one if there is no memory for more."""
        found: list[DualRidge] = []
        for weight in weights:
            is_last = self.may_overwrite and not self.rows.keep_results and weight == weights[-1]
            try:
                found.append(self._factor(weight, overwrite=is_last))
            except Exception as error:
                # After an attempt in place, the matrix is no longer a kernel matrix.
                can_retry = found or (self.may_overwrite and not is_last)
                if not is_out_of_memory(error) or not can_retry:
                    raise
                break
        if not found:
            if self.rows.results is not None:
                self.rows.results.clear()
            found.append(self._factor(weights[0], overwrite=True))
        return [*found, *(found[0].with_ridge(weight) for weight in weights[len(found) :])]

    def _factor(self, weight: float, *, overwrite: bool) -> DualRidge:
        rows = self.rows
        how = self.matrix, weight, overwrite, rows.row_weights, rows.backend.factorize
        return rows.once(("factor", *self.key, rows.weights_key, weight), DualRidge, *how)


def _features(X: Matrix, n_landmarks: int, *how: Any) -> "tuple[LandmarkFeatures, Array]":
    """Map from rows to low-rank features, and the features of the training rows."""
    from ambilearn.kernel.landmarks import landmark_features  # not for an exact kernel

    low_rank = landmark_features(X, n_landmarks, *how)
    return low_rank, low_rank.transform(X)
