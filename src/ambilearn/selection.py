"""Choose parameters without true labels: cross-validation on candidate sets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from numbers import Integral
from time import perf_counter
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.sklearn_compat import (
    BaseSearchCV,
    HasMethods,
    Interval,
    StrOptions,
    _num_samples,
    _safe_split,
)
from ambilearn._utils.types import AnyCandidates, Estimator, Matrix, Params, RandomState
from ambilearn._utils.warnings import complete_fits_only
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.masks import is_unnamed_mask
from ambilearn.fitting import unchanged_on_error
from ambilearn.learners import split_rows, without_checkpoint
from ambilearn.metrics.candidate_scores import SCORERS
from ambilearn.validation import check_row_weights

__all__ = ["CandidateSearchCV", "draw_points", "fit_points"]

Scorer = Callable[[Any, Any, Any], float]
Grid = Mapping[str, Sequence[Any]]


def draw_points(
    grid: Grid | Sequence[Grid], n_points: int | None = None, random_state: RandomState = 0
) -> list[Params]:
    """Points of a grid: all of them, or some distinct ones drawn at random.

    Parameters
    ----------
    grid : mapping of str to sequence, or sequence of such mappings
        Values of each parameter, as for :class:`sklearn.model_selection.ParameterGrid`.
    n_points : int, optional
        Number of points to draw; all if the grid has no more.
    random_state : int or RandomState, default=0
        Seed.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> from ambilearn.selection import draw_points
    >>> draw_points({"alpha": [1, 2], "beta": [3]})
    [{'alpha': 1, 'beta': 3}, {'alpha': 2, 'beta': 3}]
    >>> len(draw_points({"alpha": range(9), "beta": range(9)}, n_points=5))
    5
    """
    points = ParameterGrid(grid)
    if n_points is None or n_points >= len(points):
        return list(points)
    return list(ParameterSampler(grid, n_points, random_state=random_state))


def include_current(estimator: Estimator, points: list[Params]) -> list[Params]:
    """Insert the estimator's current parameters before the points, if they are not among them."""
    names = list(dict.fromkeys(name for point in points for name in point))
    current = {name: _current_value(estimator, name) for name in names}
    return [current, *(point for point in points if not _are_equal(point, current))]


def _are_equal(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except ValueError:  # arrays
        return bool(joblib.hash(first) == joblib.hash(second))


def _current_value(estimator: Estimator, name: str) -> Any:
    """Value of a parameter, also of a default member of an ensemble."""
    params = getattr(estimator, "_settable_params", estimator.get_params)()
    if name in params:
        return params[name]
    part, _, rest = name.partition("__")
    if rest and hasattr(params.get(part), "get_params"):
        return _current_value(params[part], rest)
    raise ValueError(
        f"{type(estimator).__name__} has no parameter {name!r}, which is in the grid. It has: "
        f"{', '.join(sorted(params))}."
    )


def fit_points(
    estimator: Estimator, points: Sequence[Params], X: Matrix, y: AnyCandidates
) -> Iterator[Estimator]:
    """Fit clones of an estimator with the parameters of each point to the same rows.

    What depends on the rows alone is computed once: kernel matrix, factorizations, neighbors and
    initial graph. The results are those of separate fits. At most 1 GiB of it is kept, or four
    times the largest matrix if that is more; what was not used for longest is dropped first. Points
    with the same kernel and ridge weight should therefore be neighbors.

    Parameters
    ----------
    estimator : estimator
        An estimator that learns from candidate sets; the methods of this library share work.
    points : sequence of dict
        Parameters.
    X : array-like, data frame or sparse matrix of shape (n, d)
        Training rows.
    y : candidate sets of n rows, in any accepted form
        Their candidate sets.

    Yields
    ------
    fitted : estimator
        In the order of the points.
    """
    if not isinstance(estimator, PartialLabelClassifier) or not estimator._shares_rows:
        for point in points:
            yield _with_params(estimator, point).fit(X, y)
        return
    sets = as_candidates(to_numpy(y), n_rows=_num_samples(X))
    rows = estimator._training_rows(X)
    for point in points:
        yield _with_params(estimator, point)._fit_rows(rows, sets)


def _with_params(estimator: Estimator, point: Params) -> Estimator:
    """Clone of an estimator with the parameters of a point, of which estimators are cloned, too."""
    return clone(estimator).set_params(**clone(point, safe=False))


# Parameters on which a kernel matrix depends, and those of its factorizations.
_OF_KERNEL = ("kernel", "sigma", "n_landmarks", "landmarks", "random_state", "reg", "alpha")


def _by_kernel(points: Sequence[Params], chosen: Iterable[int]) -> list[int]:
    """Numbers of the chosen points, those with the same kernel and ridge weight together."""
    names = {name for point in points for name in point}
    of_kernel = [name for last in _OF_KERNEL for name in sorted(names) if _last(name) == last]
    first: dict[tuple[str, str], int] = {}  # place of the first point with this value

    def places(i: int) -> list[int]:
        values = ((name, repr(points[i].get(name))) for name in of_kernel)
        return [first.setdefault(value, len(first)) for value in values]

    return sorted((int(i) for i in chosen), key=places)


def _last(name: str) -> str:
    return name.rpartition("__")[2]


class CandidateSearchCV(BaseSearchCV):
    """Search over parameters by cross-validation on candidate sets.

    Similar to :class:`sklearn.model_selection.GridSearchCV`, which can also tune the methods. Here,
    fits on the same rows share neighbors, kernel matrices and factorizations, successive halving is
    supported, and the score needs no true labels.

    Parameters
    ----------
    estimator : estimator
        The estimator to tune; it is cloned.
    param_grid : mapping of str to sequence, or sequence of such mappings
        Values to try, as for :class:`sklearn.model_selection.ParameterGrid`.
    n_points : int, optional
        Number of points of the grid to try, drawn at random. None tries all.
    include_current : bool, default=False
        Whether the first point has the current parameters of the estimator. With ``n_points``, it
        replaces one of the drawn points.
    scoring : {"approximated_accuracy", "covering_rate"} or callable, \
            default="approximated_accuracy"
        A score of :mod:`ambilearn.metrics` that needs no true labels, or a function
        ``scoring(fitted, X, candidates)``; larger is better.
    cv : int, splitter or iterable of splits, default=5
        Number of shuffled folds, or a splitter that uses neither labels nor groups.
    halving : bool, default=False
        Successive halving, with folds as the resource: all points are scored on the first fold,
        the better half on the second, and so on. This takes about two fits per point instead of
        ``cv``.
    refit : bool, default=True
        Whether to fit the best point to all rows, for predictions.
    random_state : int, RandomState instance or None, default=None
        Seed of the points and the folds.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the best point; the first of equal ones.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its index in ``cv_results_``.
    best_estimator_ : estimator
        Estimator fitted to all rows with the best parameters. Only with ``refit``.
    refit_time_ : float
        Seconds of this fit. Only with ``refit``.
    cv_results_ : dict of arrays
        As in scikit-learn: ``params``, ``param_NAME``, ``split0_test_score`` … (NaN for points
        dropped by halving), ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        and the means and standard deviations of the seconds, ``mean_fit_time``,
        ``std_fit_time``, ``mean_score_time``, ``std_score_time``. The time of shared work is part
        of the first fit on a fold.
    n_splits_ : int
        Number of folds.
    n_fits_ : int
        Number of fits of the search.
    classes_ : ndarray of shape (l,)
        The labels. Only with ``refit``.
    n_features_in_ : int
        Number of features. Only with ``refit``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X is a data frame with string column names. Only with
        ``refit``.

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> from ambilearn.selection import CandidateSearchCV
    >>> data = load_dataset("iris")
    >>> sets, _ = make_candidates(data.y, p=0.5, random_state=0)
    >>> grid = {"alpha": [0.1, 1.0], "reg": [0.03, 30.0]}
    >>> search = CandidateSearchCV(PLCL(), grid, random_state=0).fit(data.X, sets)
    >>> search.best_params_["reg"]
    0.03
    """

    _parameter_constraints = {
        "estimator": [HasMethods("fit")],
        "param_grid": [dict, list, tuple],
        "n_points": [None, Interval(Integral, 1, None, closed="left")],
        "include_current": ["boolean"],
        "scoring": [StrOptions(set(SCORERS)), callable],
        "cv": ["cv_object"],
        "halving": ["boolean"],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Estimator,
        param_grid: Grid | Sequence[Grid],
        *,
        n_points: int | None = None,
        include_current: bool = False,
        scoring: str | Scorer = "approximated_accuracy",
        cv: Any = 5,
        halving: bool = False,
        refit: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_points = n_points
        self.include_current = include_current
        self.scoring = scoring
        self.cv = cv
        self.halving = halving
        self.refit = refit
        self.random_state = random_state

    def fit(
        self,
        X: Matrix,
        y: AnyCandidates,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: AnyCandidates = None,
    ) -> Self:
        """Score all points and fit the best one to all rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows; the square kernel matrix for ``kernel="precomputed"``.
        y : candidate sets of n rows, in any accepted form
            Candidate sets of the rows.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows in all fits, if the estimator supports them; scores do not use them.
        held_out : candidate sets of n rows, optional
            Candidate sets for scoring, if they differ from ``y``. Searches on different candidate
            sets of the same rows are comparable if they use the same ``held_out``.

        Returns
        -------
        self : object
            The fitted search.
        """
        self._validate_params()
        check_structure(X, "X")
        (X,) = indexable(X)
        n_rows = _num_samples(X)
        sets = as_candidates(to_numpy(y), n_rows=n_rows)
        row_weights = check_row_weights(to_numpy(sample_weight), X, sets.row_weights)
        sets = replace(sets, row_weights=row_weights)
        points = draw_points(self.param_grid, self.n_points, self.random_state)
        if not points:
            raise ValueError("There are no points to try: param_grid is empty.")
        if self.include_current:
            points = include_current(self.estimator, points)[: self.n_points]
        scored = sets
        if held_out is not None:
            held_out = to_numpy(held_out)
            known = sets.classes if is_unnamed_mask(held_out) else None
            scored = as_candidates(held_out, classes=known, n_rows=n_rows)
        with unchanged_on_error(self):
            self._search(points, X, sets, scored)
        return self

    def _search(
        self,
        points: list[Params],
        X: Matrix,
        sets: CandidateSets,
        scored: CandidateSets,
    ) -> None:
        with complete_fits_only():
            scores, *seconds = self._score_folds(points, X, sets, scored)
        self.cv_results_ = _results(points, scores, *seconds)
        self.n_splits_ = scores.shape[1]
        self.n_fits_ = int(np.isfinite(scores).sum())
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_params_ = points[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if self.refit:
            began = perf_counter()
            self.best_estimator_ = _with_params(self.estimator, self.best_params_).fit(X, sets)
            self.refit_time_ = perf_counter() - began
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _score_folds(
        self,
        points: list[Params],
        X: Matrix,
        sets: CandidateSets,
        scored: CandidateSets,
    ) -> NDArray[np.float64]:
        """Score, fit time and score time of every point on every fold.

        The shape is (3, n_points, n_folds), with NaN for dropped points.
        """
        folds = split_rows(self.cv, X, len(sets), self.random_state)
        if not folds:
            raise ValueError("cv has no splits: use at least one.")
        scoring = SCORERS[self.scoring] if isinstance(self.scoring, str) else self.scoring
        measured = np.full((3, len(points), len(folds)), np.nan)
        scores, fit_times, score_times = measured
        remaining = np.arange(len(points))
        estimator = without_checkpoint(self.estimator)
        for fold, (train, test) in enumerate(folds):
            # _safe_split handles data frames, and both axes of a kernel matrix.
            X_train, _ = _safe_split(estimator, X, None, train)
            X_test, _ = _safe_split(estimator, X, None, test, train)
            held_out = scored[test]
            ordered = _by_kernel(points, remaining)
            fits = fit_points(estimator, [points[i] for i in ordered], X_train, sets[train])
            for i in ordered:
                began = perf_counter()
                model = next(fits)
                fitted = perf_counter()
                scores[i, fold] = scoring(model, X_test, held_out)
                fit_times[i, fold], score_times[i, fold] = fitted - began, perf_counter() - fitted
                if not np.isfinite(scores[i, fold]):
                    raise ValueError(
                        f"The score of {points[i]} on fold {fold} is {scores[i, fold]}: scoring "
                        "must return a finite number."
                    )
            if self.halving:
                # A stable sort keeps the first of equal points, as without halving.
                order = np.argsort(-scores[remaining, : fold + 1].mean(axis=1), kind="stable")
                remaining = np.sort(remaining[order[: -(-len(remaining) // 2)]])
        return measured

    def score(self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of the best point for true labels, or covering rate for candidate sets.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.
        y : labels of shape (n,), or candidate sets of n rows in any accepted form
            True labels or candidate sets of the rows.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        if not self.refit:
            raise AttributeError(
                "score needs a model that is fitted to all rows, but refit=False: search with "
                "refit=True, or fit an estimator with best_params_."
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.best_estimator_.score(X, y, **weights))

    # Weights are passed as part of the candidate sets, so no metadata are routed.
    get_metadata_routing = BaseEstimator.get_metadata_routing

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.target_tags, tags.input_tags = deepcopy((inner.target_tags, inner.input_tags))
        tags.array_api_support = False
        return tags


def _results(
    points: list[Params],
    scores: NDArray[np.float64],
    fit_times: NDArray[np.float64],
    score_times: NDArray[np.float64],
) -> Params:
    """The results in the format of scikit-learn's searches."""
    results: Params = {"params": points}
    for name, values in (("fit_time", fit_times), ("score_time", score_times)):
        results[f"mean_{name}"] = np.nanmean(values, axis=1)
        results[f"std_{name}"] = np.nanstd(values, axis=1)
    for name in sorted({name for point in points for name in point}):
        column = np.ma.masked_all(len(points), dtype=object)
        for i, point in enumerate(points):
            if name in point:
                column[i] = point[name]
        results[f"param_{name}"] = column
    for fold, fold_scores in enumerate(scores.T):
        results[f"split{fold}_test_score"] = fold_scores
    means = np.nanmean(scores, axis=1)
    results["mean_test_score"], results["std_test_score"] = means, np.nanstd(scores, axis=1)
    # Points with scores on more folds rank higher; equal points share a rank.
    quality = np.rec.fromarrays([np.isfinite(scores).sum(axis=1), means])
    _, level = np.unique(quality, return_inverse=True)
    results["rank_test_score"] = np.array([1 + np.sum(level > each) for each in level], np.int32)
    return results
