"""The fit/predict contract that all methods share."""

from abc import ABCMeta, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ambilearn._utils.labels import check_comparable_labels
from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.types import AnyCandidates, Array, Estimator, Matrix, Params
from ambilearn.backend import Backend, Support, choose_backend
from ambilearn.backend.arrays import on_device, to_numpy
from ambilearn.backend.device_arrays import check_same_namespace, describe_device
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.masks import is_unnamed_mask
from ambilearn.rows import TrainingRows
from ambilearn.solvers import project_rows
from ambilearn.validation import (
    check_row_weights,
    check_weights,
    validate_device_rows,
    validate_rows,
)


def rank_last(scores: Array, labels: Array | bool) -> Array:
    """Scores (n, l) in which the given labels, a mask of shape (l,), are below all others.

    For labels that are never a candidate, which must not be predicted.
    """
    xp = array_namespace(scores)
    lowest = xp.min(scores, axis=1, keepdims=True)
    return xp.where(labels, lowest - xp.abs(lowest) - 1.0, scores)


def forget_fit(estimator: BaseEstimator, keep: Collection[str] = ()) -> None:
    """Delete the fitted attributes of an estimator, which end in an underscore, except ``keep``."""
    for name in [name for name in vars(estimator) if name.endswith("_") and name not in keep]:
        delattr(estimator, name)


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Restore all attributes of an estimator if the block fails."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def unfitted_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator unfitted if its fit fails, even if it was fitted before."""
    try:
        yield
    except BaseException:  # including KeyboardInterrupt
        forget_fit(estimator)
        raise


class PartialLabelClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the classifiers that learn from candidate sets.

    A method implements ``_fit(rows, candidates)``, which sets ``label_distributions_``, and
    ``_scores(X)``, one score per row and label. All public methods are here. Invalid data
    leave an earlier fit unchanged; a fit that fails leaves the estimator unfitted.

    Whoever fits several times to the same rows makes them once, by :meth:`_training_rows`, and
    passes them to :meth:`_fit_rows` of each estimator. No estimator keeps them.
    """

    _parameter_constraints: dict[str, list[Any]] = {}
    # Values of the parameters that a search tries: ours without true labels, and the PL-CL paper's.
    _tuning_grid: Mapping[str, Sequence[Any]] = {}
    _paper_grid: Mapping[str, Sequence[Any]] = {}

    # Whether `_fit` and `_scores` also accept arrays of other libraries than NumPy.
    _computes_on_devices = False

    def fit(self, X: Matrix, y: AnyCandidates) -> Self:
        """Learn a classifier from candidate sets.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Training rows.
        y : sequence of label collections, mask of shape (n, l), or labels of shape (n,)
            Candidate sets; see :func:`ambilearn.candidates.as_candidates`. With ordinary labels
            every set has one member, and the method is an ordinary classifier.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._check_and_fit(X, y, None)

    def _check_and_fit(self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None) -> Self:
        with unchanged_on_error(self):
            X, sets = self._check_fit_input(X, y, sample_weight)
            rows = TrainingRows(X, self._choose_backend(X))
            self._check_training_rows(rows)
        return self._learn(rows, sets)

    def _check_fit_input(
        self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None
    ) -> tuple[Matrix, CandidateSets]:
        """Checked rows, and their candidate sets with the weights of the rows."""
        self._validate_params()
        sets = as_candidates(to_numpy(y), n_rows=_num_samples(X))
        X = self._own_rows(X)
        return X, self._weigh_rows(X, sets, to_numpy(sample_weight))

    def _own_rows(self, X: Matrix) -> Matrix:
        """Checked training rows that the caller does not change; a kernel matrix is not copied."""
        copy = not get_tags(self).input_tags.pairwise  # no model keeps the kernel matrix
        return self._validate_rows(X, ensure_min_samples=2, copy=copy)

    def _weigh_rows(
        self, X: Matrix, sets: CandidateSets, sample_weight: ArrayLike | None = None
    ) -> CandidateSets:
        """Candidate sets with checked weights of the rows."""
        sets = replace(sets, row_weights=check_row_weights(sample_weight, X, sets.row_weights))
        self._check_row_weights(sets)
        return sets

    def _training_rows(self, X: Matrix) -> TrainingRows:
        """Checked rows for several fits of this estimator, with any parameters."""
        checked = clone(self)
        X = checked._own_rows(X)
        names = getattr(checked, "feature_names_in_", None)
        return TrainingRows(X, self._choose_backend(X), feature_names=names, shared=True)

    def _fit_rows(self, rows: TrainingRows, sets: CandidateSets) -> Self:
        """Fit to rows that may be shared with other fits; the sets have the weights of the rows."""
        with unchanged_on_error(self):
            self._validate_params()
            self._check_training_rows(rows)
            sets = self._weigh_rows(rows.X, sets)
            self._set_features(rows)
        return self._learn(rows, sets)

    def _set_features(self, rows: TrainingRows) -> None:
        """Set the number and the names of the features."""
        if hasattr(rows.X, "columns"):
            self._validate_rows(rows.X, ensure_min_samples=2)
            return
        forget_fit(self)
        self.n_features_in_ = rows.X.shape[1]
        if rows.feature_names is not None:
            self.feature_names_in_ = rows.feature_names

    def _check_training_rows(self, rows: TrainingRows) -> None:
        """Raise an error if this estimator cannot be fitted to these rows."""
        if on_device(rows.X):
            self._check_device_support(rows.X)

    def _learn(self, rows: TrainingRows, sets: CandidateSets) -> Self:
        with unfitted_on_error(self):
            # An earlier fit may have had attributes that this one does not have.
            forget_fit(self, keep=("n_features_in_", "feature_names_in_"))
            rows, candidates = rows.for_sets(sets)
            self.classes_ = candidates.backend.asarray(sets.classes.copy())
            self._fit(rows, candidates)
            self.transduction_ = candidates.best(self.label_distributions_)
        return self

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
    _n_factors = 0  # number of factorizations of a kernel matrix in a fit
    _learns_from_images = False  # whether X may be a list of image files
    _ended_early = False  # whether the last fit was interrupted, with a model that can be used
    # Whether no row contributes to its own train_output_, which then has an entry for every label.
    _train_output_is_held_out = False

    def _ridge_method(self) -> Estimator:
        """An unfitted method with leave-one-out outputs in closed form, None if there is none.

        Its ``_make_regressor(rows, sets)`` returns them, as a function of the targets.
        """
        return None

    @property
    def _shares_rows(self) -> bool:
        """Whether fits to the same rows share work; not if a subclass has a fit of its own."""
        return type(self).fit in (PartialLabelClassifier.fit, WeightedRowsClassifier.fit)

    def _settable_params(self) -> Params:
        """Parameters that ``set_params`` accepts, those of default members included."""
        return self.get_params()

    def _passes_frames(self) -> bool:
        """Whether a part may need the columns of a data frame by name."""
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
    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        """Learn, and set ``label_distributions_`` of shape (n, l).

        ``rows.X`` are the checked features, and ``rows.backend`` computes where they are.
        """

    @abstractmethod
    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        """Score of every row and label, shape (n, l); the best label has the largest."""

    def _validate_rows(self, X: Matrix, **options: Any) -> Matrix:
        """Checked rows; the options are those of :func:`sklearn.utils.validation.validate_data`."""
        if on_device(X):
            self._check_device_support(X)
            return validate_device_rows(self, X, **options)
        return validate_rows(self, X, **options)

    def _choose_backend(self, X: Matrix) -> Backend:
        """The backend for validated rows; called once per fit or prediction."""
        return choose_backend(X)

    def _check_device_support(self, X: Matrix) -> None:
        """Raise an error if this estimator cannot compute on the device of X."""
        if not get_tags(self).array_api_support:
            raise not_supported_on_device(type(self).__name__, X)

    @property
    def _fitted_rows(self) -> Matrix:
        """An array on the device of the model; None before a fit."""
        names = ("intercept_", "X_fit_", "label_distributions_")
        held = (getattr(self, name, None) for name in names)
        return next((array for array in held if array is not None), None)

    def _validate_new_rows(self, X: Matrix, method: str) -> Matrix:
        """Checked rows for a fitted model; ``method`` is the method to which X was passed."""
        check_is_fitted(self)
        fitted = self._fitted_rows
        if fitted is not None:
            check_same_namespace(X, fitted, f"{type(self).__name__}.{method}")
        return self._validate_rows(X, reset=False)

    def _checked_scores(self, X: Matrix, method: str = "decision_function") -> NDArray[np.float64]:
        return self._scores(self._validate_new_rows(X, method))

    def decision_function(self, X: Matrix) -> NDArray[np.float64]:
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

    def predict(self, X: Matrix) -> Array:
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
        return backend.take_classes(self.classes_, columns)

    def predict_proba(self, X: Matrix) -> NDArray[np.float64]:
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
        return array_namespace(blocks[0]).concat(blocks)

    def _confidence_blocks(
        self, X: Matrix, method: str
    ) -> tuple[Backend, Iterator[NDArray[np.float64]]]:
        X = self._validate_new_rows(X, method)
        backend = self._choose_backend(X)
        blocks = backend.blocks(X, 2 * self.classes_.shape[0])
        return backend, (self._confidences(self._scores(self._block(X, rows))) for rows in blocks)

    def _block(self, X: Matrix, rows: slice) -> Matrix:
        return X[rows, ...]

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of scores as rows of confidences, in the same order; not all scores are votes."""
        return project_rows(scores)

    def score(self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None = None) -> float:
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._computes_on_devices
        return tags


class WeightedRowsClassifier(PartialLabelClassifier):
    """Base of the methods that take weights of rows."""

    @property
    def _takes_row_weights(self) -> bool:
        return True

    def fit(self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None = None) -> Self:
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

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._check_and_fit(X, y, sample_weight)


def not_supported_on_device(what: str, X: Matrix) -> ValueError:
    """The error for an estimator that cannot compute on the device of X."""
    return ValueError(
        f"{what} does not support device arrays, and X is an array of {describe_device(X)}: pass a "
        "NumPy array, or use a method that supports them, such as PLCL."
    )
