"""The fit of estimators that learn from candidate sets: of all methods, and a transformer."""

from abc import ABCMeta, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.types import AnyCandidates, Matrix
from ambilearn.backend import Support, choose_backend
from ambilearn.backend.arrays import on_device, to_numpy
from ambilearn.backend.device_arrays import not_supported_on_device, validate_device_rows
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.rows import TrainingRows
from ambilearn.validation import check_magnitude, check_row_weights, validate_rows


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


class CandidateEstimator(BaseEstimator, metaclass=ABCMeta):
    """Base of the estimators that learn from candidate sets.

    A subclass implements ``_fit(rows, candidates)``, which sets ``label_distributions_``. Invalid
    data leave an earlier fit unchanged; a fit that fails leaves the estimator unfitted.

    Whoever fits several times to the same rows makes them once, by :meth:`_training_rows`, and
    passes them to :meth:`_fit_rows` of each estimator. No estimator keeps them.
    """

    _parameter_constraints: dict[str, list[Any]] = {}

    # Whether arrays of other libraries than NumPy are accepted, too.
    _computes_on_devices = False

    def _check_and_fit(self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None) -> Self:
        with unchanged_on_error(self):
            X, sets = self._check_fit_input(X, y, sample_weight)
            rows = TrainingRows(X)
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
        return TrainingRows(X, feature_names=names, shared=True)

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
        return has_fit_parameter(self, "sample_weight")

    def _check_row_weights(self, sets: CandidateSets) -> None:
        """Raise an error if rows have weights and the method cannot use them."""
        if sets.row_weights is not None and not self._takes_row_weights:
            raise ValueError(
                f"{type(self).__name__} cannot weight rows: omit sample_weight, and pass "
                "candidate sets without row_weights; or use a method whose fit takes "
                "sample_weight, such as PLCL."
            )

    @abstractmethod
    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        """Learn, and set ``label_distributions_`` of shape (n, l).

        ``rows.X`` are the checked features, and ``rows.backend`` computes where they are.
        """

    def _validate_rows(self, X: Matrix, **options: Any) -> Matrix:
        """Checked rows; the options are those of :func:`sklearn.utils.validation.validate_data`."""
        if not on_device(X):
            return validate_rows(self, X, **options)
        self._check_device_support(X)
        X = validate_device_rows(self, X, **options)
        check_magnitude(X, choose_backend(X))
        return X

    def _check_device_support(self, X: Matrix) -> None:
        """Raise an error if this estimator cannot compute on the device of X."""
        if not get_tags(self).array_api_support:
            raise not_supported_on_device(type(self).__name__, X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._computes_on_devices
        return tags


class WeightedRowsMixin(CandidateEstimator):
    """For estimators that take weights of rows."""

    def fit(self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from candidate sets.

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
