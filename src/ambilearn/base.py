"""The fit/predict contract that all methods share."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ambilearn._utils.fit_cache import NO_CACHE, FitCache
from ambilearn._utils.fit_state import forget_fit, unchanged_on_error, unfitted_on_error
from ambilearn._utils.label_kinds import check_comparable_labels
from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn.backend import Backend, Support, choose_backend
from ambilearn.backend.arrays import (
    check_device_array,
    check_same_namespace,
    describe_device,
    on_device,
    to_numpy,
)
from ambilearn.backend.memory import bytes_of_fit
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.masks import is_unnamed_mask
from ambilearn.solvers import project_rows
from ambilearn.validation import check_magnitude, check_row_weights, check_weights, validate_rows


def rank_last(scores: Any, labels: Any) -> Any:
    """Scores (n, l) in which the given labels, a mask of shape (l,), are below all others.

    For labels that are never a candidate, which must not be predicted.
    """
    xp = array_namespace(scores)
    lowest = xp.min(scores, axis=1, keepdims=True)
    return xp.where(labels, lowest - xp.abs(lowest) - 1.0, scores)


def bind_cache(cache: FitCache, X: Any, candidates: CandidateSets) -> None:
    """Raise an error if the cache holds results for other rows, or for another device."""
    if not cache.keeps_results:
        return
    held = (X.data, X.indices, X.indptr) if issparse(X) else (to_numpy(X),)
    cache.bind(
        (describe_device(X), X.shape, *held, candidates.row_weights),
        (candidates.classes, candidates.indptr, candidates.labels, candidates.weights),
    )


class PartialLabelClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the classifiers that learn from candidate sets.

    A method implements ``_fit(X, candidates, cache)``, which sets ``label_distributions_``, and
    ``_scores(X)``, one score per row and label. All public methods are here. Invalid data
    leave an earlier fit unchanged; a fit that fails leaves the estimator unfitted.
    """

    _parameter_constraints: dict[str, list[Any]] = {}
    # Values of the parameters that a search tries: ours without true labels, and the PL-CL paper's.
    _tuning_grid: Mapping[str, Sequence[Any]] = {}
    _paper_grid: Mapping[str, Sequence[Any]] = {}

    # Whether `_fit` and `_scores` also accept arrays of other libraries than NumPy.
    _computes_on_devices = False

    # The cache is for searches over fits on the same rows; meta-estimators do not route it.
    __metadata_request__fit = {"cache": UNUSED}

    def fit(self, X: Any, y: Any, *, cache: FitCache | None = None) -> Self:
        """Learn a classifier from candidate sets.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Training rows.
        y : sequence of label collections, mask of shape (n, l), or labels of shape (n,)
            Candidate sets; see :func:`ambilearn.candidates.as_candidates`. With ordinary labels
            every set has one member, and the method is an ordinary classifier.
        cache : FitCache, optional
            Work that fits on the same rows share, such as the points of a grid; see
            :class:`~ambilearn.selection.FitCache`. By default nothing is kept.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_rows(X, y, None, cache)

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, cache: FitCache | None
    ) -> Self:
        cache = NO_CACHE if cache is None else cache
        with unchanged_on_error(self):
            X, sets = self._check_fit_input(X, y, sample_weight)
            bind_cache(cache, X, sets)
        with unfitted_on_error(self):
            # An earlier fit may have had attributes that this one does not have.
            forget_fit(self, keep=("n_features_in_", "feature_names_in_"))
            candidates = self._choose_backend(X).support(sets)
            self.classes_ = candidates.backend.asarray(sets.classes)
            self._fit(X, candidates, cache)
            self.transduction_ = candidates.best(self.label_distributions_)
        return self

    def _check_fit_input(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Any, CandidateSets]:
        """Checked rows, and their candidate sets with the weights of the rows."""
        self._validate_params()
        y, sample_weight = to_numpy(y), to_numpy(sample_weight)
        sets = as_candidates(y, n_rows=_num_samples(X))
        X = self._validate_rows(X, ensure_min_samples=2)
        sets = replace(sets, row_weights=check_row_weights(sample_weight, X, sets.row_weights))
        self._check_row_weights(sets)
        return X, sets

    @property
    def _takes_row_weights(self) -> bool:
        """Whether rows can have weights."""
        return False

    def _check_row_weights(self, sets: CandidateSets) -> None:
        """Raise an error if rows have weights and the method cannot use them."""
        if sets.row_weights is not None and not self._takes_row_weights:
            raise ValueError(
                f"{type(self).__name__} cannot weight rows: omit sample_weight, and pass "
                "candidate sets without row_weights; or use a method whose fit takes "
                "sample_weight, such as PLCL."
            )

    # --- what ensembles, searches, doubt and tables use of a method -----------------------------

    _is_ensemble = False  # whether it has members

    @property
    def _ridges(self) -> tuple[float, ...]:
        """Ridge weights of the kernel factorizations that a fit needs, each once."""
        return ()

    def _ridge_method(self) -> Any:
        """An unfitted method with leave-one-out outputs in closed form, None if there is none.

        Its ``_make_regressor(X, sets, cache)`` returns a regressor with ``held_out(targets)``.
        """
        return None

    def _bytes_of_fit(self, n_features: int, candidates: Support, n_matrices: int = 1) -> int:
        """Device memory of a fit, with this many kernel matrices and factors if it needs any."""
        return bytes_of_fit(
            candidates.n_rows,
            n_labels=candidates.n_labels,
            n_pairs=candidates.n_pairs,
            n_neighbors=getattr(self, "n_neighbors", 0),
            rank=self._rank(candidates.n_rows, n_features),
            n_matrices=n_matrices,
        )

    def _rank(self, n_rows: int, n_features: int) -> int | None:
        """Number of features that replace the kernel matrix; None if the matrix is needed."""
        return 0

    def _settable_params(self) -> dict[str, Any]:
        """Parameters that ``set_params`` accepts, those of default members included."""
        params: dict[str, Any] = self.get_params()
        return params

    def _has_parameter(self, key: str) -> bool:
        """Whether ``key`` is a parameter, or starts with the name of a part that may have it."""
        return key in self.get_params(deep=False)

    def _passes_frames(self) -> bool:
        """Whether a part may need the columns of a data frame by name."""
        return False

    _learns_from_images = False  # whether X may be a list of image files
    _has_complete_train_output = False  # whether a sparse one has an entry for every label

    @property
    def _was_interrupted(self) -> bool:
        """Whether the last fit ended early, with a model that can be used."""
        return False

    @property
    def _input_shape(self) -> tuple[int, ...]:
        """Shape of a row that a fitted method takes."""
        return (self.n_features_in_,)

    @property
    def _input_type(self) -> type[np.generic]:
        """Type of the numbers that a fitted method takes."""
        return np.float64

    def _check_savable(self) -> None:
        """Raise an error if a parameter cannot be part of a model file."""

    # --- what a method implements ---------------------------------------------------------------

    @abstractmethod
    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        """Learn, and set ``label_distributions_`` of shape (n, l).

        ``candidates.backend`` computes where X is. Results that other fits on the same rows can
        reuse go through the cache.
        """

    @abstractmethod
    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Score of every row and label, shape (n, l); the best label has the largest."""

    def _validate_rows(self, X: Any, **options: Any) -> Any:
        if on_device(X):
            self._check_device_support(X)
            X = self._validate_device_rows(X, **options)
            check_magnitude(X, self._choose_backend(X))
            return X
        return validate_rows(self, X, **options)

    def _choose_backend(self, X: Any) -> Backend:
        """The backend for validated rows; called once per fit or prediction."""
        return choose_backend(X)

    def _check_device_support(self, X: Any) -> None:
        """Raise an error if this estimator cannot compute on the device of X."""
        if not get_tags(self).array_api_support:
            raise not_supported_on_device(type(self).__name__, X)

    def _validate_device_rows(self, X: Any, *, reset: bool = True, **options: Any) -> Any:
        X = check_device_array(X)
        n_least = options.get("ensure_min_samples", 1)
        if X.shape[0] < n_least or X.shape[1] < 1:
            raise ValueError(
                f"Found array with shape {tuple(X.shape)} while a minimum of {n_least} rows and 1 "
                f"feature is required by {type(self).__name__}."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    @property
    def _fitted_rows(self) -> Any:
        """An array on the device of the model; None before a fit."""
        names = ("intercept_", "X_fit_", "label_distributions_")
        held = (getattr(self, name, None) for name in names)
        return next((array for array in held if array is not None), None)

    def _validate_new_rows(self, X: Any, method: str) -> Any:
        """Checked rows for a fitted model; ``method`` is the method to which X was passed."""
        check_is_fitted(self)
        fitted = self._fitted_rows
        if fitted is not None:
            check_same_namespace(X, fitted, f"{type(self).__name__}.{method}")
        return self._validate_rows(X, reset=False)

    def _checked_scores(self, X: Any, method: str = "decision_function") -> NDArray[np.float64]:
        return self._scores(self._validate_new_rows(X, method))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score of every label.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n, l)
            In the order of ``classes_``. With two labels, as everywhere in scikit-learn, one
            column: the second label's score minus the first's, of shape (n,).
        """
        scores = self._checked_scores(X)
        return scores[:, 1] - scores[:, 0] if self.classes_.shape[0] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Most likely label of every row, among all labels.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        # From the confidences, so that both agree even where rounding makes two of them equal;
        # block by block, so that a million rows and thousands of labels need no matrix of both.
        backend, blocks = self._confidence_blocks(X, "predict")
        best = [array_namespace(block).argmax(block, axis=1) for block in blocks]
        columns = array_namespace(best[0]).concat(best)
        labels: NDArray[Any] = backend.take_classes(self.classes_, columns)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Confidence of every label: the scores, converted to rows that sum to one.

        Scores of a regression are projected, votes are divided by their sum. Both keep the order
        of the scores, so the largest confidence is that of the predicted label. The confidences
        are not calibrated.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        confidences : ndarray of shape (n, l)
            Non-negative rows that sum to one, in the order of ``classes_``.
        """
        blocks = list(self._confidence_blocks(X, "predict_proba")[1])
        confidences: NDArray[np.float64] = array_namespace(blocks[0]).concat(blocks)
        return confidences

    def _confidence_blocks(
        self, X: Any, method: str
    ) -> tuple[Backend, Iterator[NDArray[np.float64]]]:
        X = self._validate_new_rows(X, method)
        backend = self._choose_backend(X)
        blocks = backend.blocks(X, 2 * self.classes_.shape[0])
        return backend, (self._confidences(self._scores(self._block(X, rows))) for rows in blocks)

    def _block(self, X: Any, rows: slice) -> Any:
        return X[rows, ...]

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of scores as rows of confidences, in the same order; not all scores are votes."""
        confidences: NDArray[np.float64] = project_rows(scores).value
        return confidences

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Share of rows whose predicted label is right.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.
        y : labels of shape (n,), sequence of label collections, or mask of shape (n, l)
            True labels give the accuracy. Candidate sets give the covering rate, the share of
            predictions that lie in the row's set: an upper bound on the accuracy that needs no true
            label. A label that the model has not seen counts as wrong; labels that it can never
            predict, such as text if its labels are numbers, raise an error.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        score : float
        """
        y, sample_weight = to_numpy(y), to_numpy(sample_weight)
        predicted = to_numpy(self.predict(X))
        known = to_numpy(self.classes_)
        truth = as_candidates(y, classes=known if is_unnamed_mask(y) else None)
        check_comparable_labels(truth.classes, known, "y", "the labels of the model")
        check_consistent_length(predicted, truth.sizes, sample_weight)
        hits = truth.covers(predicted).astype(np.float64)
        weights = None if sample_weight is None else check_weights(sample_weight, hits)
        return float(np.average(hits, weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._computes_on_devices
        return tags


class WeightedRowsClassifier(PartialLabelClassifier):
    """Base of the methods that take weights of rows."""

    @property
    def _takes_row_weights(self) -> bool:
        return True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        cache: FitCache | None = None,
    ) -> Self:
        """Learn a classifier from candidate sets.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Training rows.
        y : sequence of label collections, mask of shape (n, l), or labels of shape (n,)
            Candidate sets; see :func:`ambilearn.candidates.as_candidates`. With ordinary labels
            every set has one member, and the method is an ordinary classifier.
        sample_weight : array-like of shape (n,), optional
            Weight of each row in the classifier's error, in all terms of the row alone, and in
            votes. The classifier does not learn from a row of weight zero, but the row is
            disambiguated, and remains a neighbor of others. The bandwidth ``sigma="mean"`` of a
            kernel is the weighted mean distance of the rows. Neighbors and landmarks are chosen
            without the weights.
            If y is a :class:`~ambilearn.CandidateSets` with ``row_weights``, both are multiplied.
        cache : FitCache, optional
            Work that fits on the same rows share, such as the points of a grid; see
            :class:`~ambilearn.selection.FitCache`. By default nothing is kept.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_rows(X, y, sample_weight, cache)


def not_supported_on_device(what: str, X: Any) -> ValueError:
    """The error for an estimator that cannot compute on the device of X."""
    return ValueError(
        f"{what} does not support device arrays, and X is an array of {describe_device(X)}: pass a "
        "NumPy array, or use a method that supports them, such as PLCL."
    )
