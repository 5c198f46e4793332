"""The kernel (or linear) least-squares classifier inside PL-CL, PL-AGGD, LALO, SURE and PLCP."""

from copy import deepcopy
from numbers import Real
from typing import Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags

from ambilearn._utils.rounds import LOOP_CONSTRAINTS
from ambilearn._utils.sklearn_compat import Interval, StrOptions
from ambilearn._utils.types import Estimator, Matrix
from ambilearn.backend import Support, choose_backend
from ambilearn.backend.arrays import column_centers
from ambilearn.backend.device_arrays import describe_device, is_out_of_memory
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets
from ambilearn.fitting import WeightedRowsMixin
from ambilearn.graph.neighbors import NEIGHBOR_CONSTRAINTS
from ambilearn.kernel import LANDMARKS_CONSTRAINT, check_dense_labels
from ambilearn.kernel.functions import KernelFunction, check_symmetric, cross_kernel
from ambilearn.kernel.leave_one_out import LeaveOneOut
from ambilearn.kernel.ridge import RidgeFit
from ambilearn.rows import KernelSpace, TrainingRows

# Values in tuning grids, of the weights in an objective and of the ridge weight.
WEIGHTS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)
RIDGES = (0.001, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0)


class KernelPartialLabelClassifier(WeightedRowsMixin, PartialLabelClassifier):
    """Base of the methods whose classifier is ridge regression of the confidences.

    A subclass has the parameters ``kernel`` and ``sigma``, and for a low-rank kernel also
    ``n_landmarks``, ``landmarks`` and ``random_state``. Its ``_fit`` calls :meth:`_space` once,
    uses the regressors any number of times, and passes the last fit to :meth:`_keep`.
    """

    reg: float
    kernel: str | KernelFunction
    sigma: str | float
    n_landmarks: int | None = None
    _n_factors = 1

    # Of all parameters that several of these methods have.
    _parameter_constraints = {
        "gamma": [Interval(Real, 0, None, closed="left")],
        "mu": [Interval(Real, 0, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="neither")],
        **NEIGHBOR_CONSTRAINTS,
        **LOOP_CONSTRAINTS,
        "kernel": [StrOptions({"rbf", "linear", "precomputed"}), callable],
        # The square of sigma and its inverse must be in the range of floating point.
        "sigma": [StrOptions({"mean"}), Interval(Real, 1e-150, 1e150, closed="both")],
        "n_landmarks": [None, LANDMARKS_CONSTRAINT],
        "landmarks": [StrOptions({"kmeans", "uniform"})],
        "random_state": ["random_state"],
    }

    def _ridge_method(self) -> Estimator:
        return clone(self)

    def _check_device_support(self, X: Matrix) -> None:
        if self._pairwise:
            raise ValueError(
                "kernel='precomputed' does not support device arrays: pass the features and a "
                "kernel function, or the kernel matrix as a NumPy array."
            )
        super()._check_device_support(X)

    def _check_training_rows(self, rows: TrainingRows) -> None:
        super()._check_training_rows(rows)
        if not self._pairwise:
            return
        if rows.X.shape[0] != rows.X.shape[1]:
            raise ValueError(
                "kernel='precomputed' requires X to be the square kernel matrix of the training "
                f"rows; got shape {rows.X.shape}."
            )
        if self.n_landmarks is not None:
            raise ValueError(
                "n_landmarks is not supported with kernel='precomputed', which provides the full "
                "kernel matrix: set n_landmarks=None."
            )
        check_symmetric(rows.X)

    def _learn(self, rows: TrainingRows, sets: CandidateSets) -> Self:
        try:
            return super()._learn(rows, sets)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            advice = (
                "Set n_landmarks for a kernel of low rank, for instance n_landmarks=2000, whose "
                "memory grows with the rows and not with their square; or use a method without "
                "a kernel, such as PLKNN, IPAL or PLDA."
                if self.n_landmarks is None
                else "Lower n_landmarks, or pass fewer rows."
            )
            raise MemoryError(
                f"A fit of {rows.X.shape[0]} rows needs more memory than is free on its device "
                f"({describe_device(rows.X)}). {advice}"
            ) from error

    def _space(self, rows: TrainingRows, candidates: Support) -> KernelSpace:
        """The kernel of the training rows."""
        low_rank = () if self.n_landmarks is None else (self.landmarks, self.random_state)
        space = rows.kernel(self.kernel, self.sigma, self.n_landmarks, *low_rank)
        if space.features is None and candidates.sets.sparse_mask:
            check_dense_labels(candidates.n_labels)
        return space

    def _make_regressor(self, rows: TrainingRows, sets: CandidateSets) -> LeaveOneOut:
        """Leave-one-out outputs of the regression in a fit to these rows and sets."""
        self._validate_params()
        self._check_training_rows(rows)
        rows, candidates = rows.for_sets(self._weigh_rows(rows.X, sets))
        (ridge,) = self._space(rows, candidates).ridges(self.reg)
        return LeaveOneOut(ridge, candidates)

    def _keep(self, fit: RidgeFit, space: KernelSpace) -> None:
        """Store the fitted classifier for prediction."""
        self.intercept_, self.sigma_ = fit.intercept, space.sigma
        if self.kernel == "linear":
            # One row per label, as in scikit-learn, so that its feature selection works.
            if space.features is None:  # the kernel is that of centered rows
                self.coef_ = (space.rows.X.T @ fit.coef).T
                self.intercept_ = fit.intercept - self.coef_ @ column_centers(space.rows.X)
            else:
                self.coef_ = fit.coef.T
        elif space.landmarks is not None:
            self.dual_coef_ = space.landmarks.whitening @ fit.coef
            # Other fits may share these landmarks.
            self.X_fit_: Matrix = deepcopy(space.landmarks.landmarks)
        else:
            self.dual_coef_ = fit.coef
            self.X_fit_ = None if self._pairwise else space.rows.X

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        if hasattr(self, "coef_"):
            return X @ self.coef_.T + self.intercept_
        if self._pairwise:
            return X @ self.dual_coef_ + self.intercept_
        backend, parts = choose_backend(X), []
        for rows in backend.blocks(X, self.dual_coef_.shape[0]):
            K = cross_kernel(X[rows, ...], self.X_fit_, self.kernel, self.sigma_, backend=backend)
            parts.append(K @ self.dual_coef_ + self.intercept_)
        return array_namespace(self.intercept_).concat(parts)

    @property
    def _pairwise(self) -> bool:
        return self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.input_tags.sparse = not self._pairwise
        return tags
