"""What all methods have besides their fit: predictions, and what other packages use of them."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ambilearn._utils.suspicious_labels import check_comparable_labels
from ambilearn._utils.types import AnyCandidates, Array, Estimator, Matrix, Params
from ambilearn.backend import Backend, Support, choose_backend
from ambilearn.backend.arrays import to_numpy
from ambilearn.backend.device_arrays import check_same_namespace
from ambilearn.candidates import as_candidates
from ambilearn.candidates.masks import is_unnamed_mask
from ambilearn.fitting import CandidateEstimator, WeightedRowsMixin
from ambilearn.validation import check_weights


def rank_last(scores: Array, labels: Array | bool) -> Array:
    """Scores (n, l) in which the given labels, a mask of shape (l,), are below all others.

    For labels that are never a candidate, which must not be predicted.
    """
    xp = array_namespace(scores)
    lowest = xp.min(scores, axis=1, keepdims=True)
    return xp.where(labels, lowest - xp.abs(lowest) - 1.0, scores)


def normalize_votes(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of every label in the non-negative votes (n, l) of each row; rows sum to one."""
    xp = array_namespace(votes)
    total = xp.sum(votes, axis=1, keepdims=True)
    shares: NDArray[np.float64] = xp.where(total > 0, votes, 1.0)
    shares /= xp.where(total > 0, total, float(votes.shape[1]))
    return shares


def normalize_candidate_votes(
    candidates: Support, votes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of every candidate in the non-negative votes for the candidates of its row."""
    xp = array_namespace(votes)
    total = xp.take(candidates.row_sums(votes), candidates.rows)
    shares = votes / xp.where(total > 0, total, 1.0)
    return xp.where(total > 0, shares, candidates.prior())


def project_rows(values: Array) -> Array:
    """Project each row of a matrix onto the simplex.

    Parameters
    ----------
    values : array of shape (n, m)
        Rows to project.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> project_rows(np.array([[0.8, 0.6, -1.0]])).round(3)
    array([[0.6, 0.4, 0. ]])
    """
    xp = array_namespace(values)
    # The shift does not change the projection. Without it, adding 1 to large values has no effect.
    values = values - xp.max(values, axis=1, keepdims=True)
    descending = xp.sort(values, axis=1, descending=True)
    counts = xp.arange(1, values.shape[1] + 1, dtype=values.dtype, device=device(values))
    thresholds = (xp.cumulative_sum(descending, axis=1) - 1.0) / counts
    tau = xp.max(thresholds, axis=1, keepdims=True)
    return xp.maximum(values - tau, xp.zeros_like(tau))


def match_sparsity(fitted: Matrix, X: Matrix) -> Matrix:
    """X, converted to sparse or dense as the fitted rows are."""
    if sparse.issparse(X) == sparse.issparse(fitted):
        return X
    return X.toarray() if sparse.issparse(X) else sparse.csr_array(X)


class PartialLabelClassifier(ClassifierMixin, CandidateEstimator):
    """Base of the classifiers that learn from candidate sets.

    A method implements ``_fit(rows, candidates)``, which sets ``label_distributions_``, and
    ``_scores(X)``, one score per row and label. All public methods are here and in
    :class:`~ambilearn.fitting.CandidateEstimator`.
    """

    # Values of the parameters that a search tries: ours without true labels, and the PL-CL paper's.
    _tuning_grid: Mapping[str, Sequence[Any]] = {}
    _paper_grid: Mapping[str, Sequence[Any]] = {}

    def fit(self, X: Matrix, y: AnyCandidates) -> Self:
        """Learn from candidate sets.

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
        return type(self).fit in (PartialLabelClassifier.fit, WeightedRowsMixin.fit)

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

    # --- predictions ---

    @abstractmethod
    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        """Score of every row and label, shape (n, l); the best label has the largest."""

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
        backend = choose_backend(X)
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
