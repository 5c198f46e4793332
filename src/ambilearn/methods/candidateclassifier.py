"""Any classifier with probabilities and weights of rows, in a loop that learns from sets."""

from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from ambilearn._utils.rounds import LOOP_CONSTRAINTS, Round, report_round
from ambilearn._utils.sklearn_compat import HasMethods, Interval, StrOptions, _safe_indexing
from ambilearn._utils.types import Estimator, Matrix, RandomState
from ambilearn.backend import HOST, HostSupport, Support
from ambilearn.base import PartialLabelClassifier, normalize_candidate_votes, normalize_votes
from ambilearn.fitting import WeightedRowsMixin
from ambilearn.learners import is_search, method_inside, weight_argument, without_preprocessing
from ambilearn.rows import TrainingRows

_FEW_NUMBERS = 2**18  # in the rows of a fit, below which several threads are slower than one
_LEAST = 1e-3  # added to held-out probabilities, so that no candidate is excluded for good
_FORESTS = (ExtraTreesClassifier, RandomForestClassifier)
_DEFAULTS = {
    "forest": lambda: ExtraTreesClassifier(max_features=0.3),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=50),
}


class CandidateClassifier(MetaEstimatorMixin, WeightedRowsMixin, PartialLabelClassifier):
    r"""Any classifier with probabilities, in a loop that learns from candidate sets.

    The confidences :math:`P` of the candidates start as the shares of their weights
    :math:`\Pi`. In each round the classifier learns from the pairs of a row and one of its
    candidates, with :math:`P` as their weights, and predicts every row :math:`x_i` without having
    learned from it:

    .. math:: P_{ij} \propto \Pi_{ij} \left(f^{(-i)}_j(x_i) + .001\right), \quad j \in S_i

    A flexible classifier fits whatever labels it learns from, so only these *held-out*
    probabilities show which candidate is likely. The rounds end when the labels no longer change;
    then the classifier is fitted to all pairs. For a network and probabilities that are not held
    out, this loop is PRODEN [1]_.

    Trees are often better than kernel methods for features on different scales, thresholds,
    categories and missing values; see :doc:`/guide/methods`.

    Parameters
    ----------
    estimator : {"forest", "boosting"} or classifier, default="forest"
        A classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``, alone or at the
        end of a pipeline. ``"forest"`` is
        :class:`~sklearn.ensemble.ExtraTreesClassifier` with ``max_features=0.3``, ``"boosting"`` is
        :class:`~sklearn.ensemble.HistGradientBoostingClassifier` with 50 iterations. It learns the
        numbers of the columns of ``classes_`` instead of the labels. A data frame is passed on
        unchanged, with its column names and categories, and missing values are, if it takes them.
    max_iter : int, default=5
        Maximum number of rounds.
    tol : float, default=0.01
        The rounds end when at most this share of the rows changes its label.
    cv : int, default=5
        Number of folds for held-out probabilities, drawn again in every round. Random forests and
        extremely randomized trees need none: each tree of a round is fitted to a bootstrap sample
        of the rows, and predicts the other rows [2]_.
    n_jobs : int, default=None
        Number of folds or trees that are fitted at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, bootstrap samples, and classifiers without a seed of their own.
    verbose : int, default=0
        If positive, print a line per round.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in column order.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences P of the training rows: zero for labels that are not candidates; each row sums
        to one; sparse if y is a sparse mask.
    transduction_ : ndarray of shape (n,)
        Disambiguated label of each training row: the candidate with the largest confidence.
    train_output_ : ndarray or csr_array of shape (n, l)
        Held-out probabilities of the training rows in the last round.
    estimator_ : classifier
        The classifier, fitted to all rows. Its labels are numbers of columns of ``classes_``.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X is a data frame with string column names.

    See Also
    --------
    PLVoting : The mean of several methods, such as a forest and a stack.

    References
    ----------
    .. [1] Lv, Xu, Feng, Niu, Geng, Sugiyama. Progressive identification of true labels for
       partial-label learning. ICML 2020.
    .. [2] Breiman. Random forests. Machine Learning 45(1), 5-32, 2001.

    Examples
    --------
    >>> from ambilearn import CandidateClassifier
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> data = load_dataset("iris")
    >>> sets, _ = make_candidates(data.y, p=0.8, random_state=0)
    >>> model = CandidateClassifier("forest", random_state=0).fit(data.X, sets)
    >>> float((model.transduction_ == data.y).mean().round(2))
    0.97
    >>> model.predict(data.X[:2])
    array(['setosa', 'setosa'], dtype='<U10')
    """

    _parameter_constraints = {
        **LOOP_CONSTRAINTS,
        "estimator": [StrOptions(set(_DEFAULTS)), HasMethods(["fit", "predict"])],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _train_output_is_held_out = True

    def __init__(
        self,
        estimator: Estimator = "forest",
        *,
        max_iter: int = 5,
        tol: float = 0.01,
        cv: int = 5,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        rng = check_random_state(self.random_state)
        classifier = self._checked_classifier(rng)
        X, single = without_preprocessing(rows.X, classifier)
        support = HostSupport(candidates.sets, HOST)
        p = support.prior()
        labels = support.best_labels(p)
        began = perf_counter()
        for number in range(1, self.max_iter + 1):
            pairs = _Pairs(support.rows, support.labels, p * support.pair_weights)
            seed = int(rng.randint(np.iinfo(np.int32).max))
            if isinstance(single, _FORESTS):
                outputs = _out_of_bag(single, X, pairs, support, self.n_jobs, seed)
            else:
                outputs = _out_of_fold(single, X, pairs, support, self.cv, self.n_jobs, seed)
            votes = support.relative_weights * (support.gather(outputs) + _LEAST)
            p = normalize_candidate_votes(support, votes)
            before, labels = labels, support.best_labels(p)
            change = float(np.mean(before != labels))
            done = Round(type(self).__name__, number, self.max_iter, change, self.tol)
            report_round(done)
            if self.verbose:
                print(
                    f"[{done.name}] round {done.number}   {change:.1%} of the labels changed   "
                    f"{perf_counter() - began:.2f} s",
                    flush=True,
                )
            if change <= self.tol:
                break
        self.n_iter_ = number
        pairs = _Pairs(support.rows, support.labels, p * support.pair_weights)
        if isinstance(classifier, _FORESTS) and classifier.n_jobs is None:
            classifier.set_params(n_jobs=self.n_jobs)
        self.estimator_, self._columns = _fit_pairs(classifier, rows.X, pairs)
        if isinstance(self.estimator_, _FORESTS):  # threads would add up votes in any order
            self.estimator_.set_params(n_jobs=None)
        self.label_distributions_ = candidates.as_output(p)
        is_sparse = candidates.sets.sparse_mask
        self.train_output_ = sparse.csr_array(outputs) if is_sparse else outputs

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        return _predict(self.estimator_, self._columns, X, len(self.classes_))

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalize_votes(scores)

    # --- the classifier ---------------------------------------------------------------------------

    def _classifier(self) -> Any:
        """A new unfitted classifier."""
        make = _DEFAULTS.get(self.estimator) if isinstance(self.estimator, str) else None
        return clone(self.estimator) if make is None else make()

    def _checked_classifier(self, rng: np.random.RandomState) -> Any:
        """A new classifier with a seed; raises an error if it cannot learn from weighted pairs."""
        given = self._classifier()
        name = type(given).__name__
        if method_inside(given) is not None:
            raise ValueError(f"{name} learns from candidate sets itself: use it directly.")
        if is_search(given):
            raise ValueError(
                f"{name} would have the same row in the training rows and in the held-out rows of "
                "a fold: tune the classifier with ambilearn.selection.CandidateSearchCV("
                "CandidateClassifier(...), {'estimator__...': [...]}) instead."
            )
        if not is_classifier(given) or not hasattr(given, "predict_proba"):
            raise ValueError(
                f"{name} has no predict_proba, which the rounds need: pass a classifier with "
                "probabilities, such as RandomForestClassifier(), or wrap it in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        if weight_argument(given) is None:
            raise ValueError(
                f"The fit of {name} takes no sample_weight, which the rounds need for the weights "
                "of candidates: pass a classifier that does, such as RandomForestClassifier(), or "
                "combine it with a method, as in PLVoting([('plcl', PLCL()), ('other', ...)])."
            )
        for parameter, value in sorted(given.get_params().items()):
            if parameter.rpartition("__")[2] == "random_state" and value is None:
                given.set_params(**{parameter: int(rng.randint(np.iinfo(np.int32).max))})
        return given

    def _settable_params(self) -> dict[str, Any]:
        inside = self._classifier().get_params()
        return {**self.get_params(), **{f"estimator__{name}": inside[name] for name in inside}}

    def set_params(self, **params: Any) -> "CandidateClassifier":
        """Set parameters, and with ``estimator__`` before their names those of the classifier.

        Parameters
        ----------
        **params
            Values by name, such as ``estimator__max_depth=5``, also for a classifier that is given
            by name.

        Returns
        -------
        self : object
        """
        if "estimator" in params:
            self.estimator = params.pop("estimator")
        if any(name.startswith("estimator__") for name in params):
            self.estimator = self._classifier()
        super().set_params(**params)
        return self

    def _check_savable(self) -> None:
        raise TypeError(
            f"A model file cannot store {type(self._classifier()).__name__}, because its arrays "
            "cannot be checked when it is loaded. Use joblib.dump and joblib.load instead, and "
            "load only files from sources that you trust: loading them can run any code."
        )

    # --- rows -------------------------------------------------------------------------------------

    def _passes_frames(self) -> bool:
        return not isinstance(self.estimator, str)

    def _validate_rows(self, X: Matrix, **options: Any) -> Any:
        if hasattr(X, "columns"):  # the classifier validates the columns that it uses
            reset = options.get("reset", True)
            return validate_data(self, X, reset=reset, skip_check_array=True)
        finite = "allow-nan" if get_tags(self).input_tags.allow_nan else True
        return super()._validate_rows(X, ensure_all_finite=finite, **options)

    def _block(self, X: Matrix, rows: slice) -> Any:
        return _safe_indexing(X, rows) if hasattr(X, "columns") else X[rows, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = get_tags(self._classifier()).input_tags
        except (AttributeError, TypeError, ValueError):  # fit reports an invalid classifier
            return tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


class _Pairs(NamedTuple):
    """Pairs of a row and a candidate that a classifier learns from.

    Parameters
    ----------
    rows, labels : ndarray of shape (n_pairs,)
        Numbers of the rows and of the columns of the labels.
    weights : ndarray of shape (n_pairs,)
        Weights of the pairs.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]

    def take(self, which: NDArray[np.bool_]) -> "_Pairs":
        """The pairs of a mask."""
        return _Pairs(self.rows[which], self.labels[which], self.weights[which])


def _fit_pairs(classifier: Estimator, X: Matrix, pairs: _Pairs) -> tuple[Any, NDArray[np.intp]]:
    """A fitted clone, and the columns of the labels that it learned, which it numbers from 0.

    Some classifiers need labels without a gap, and many at least two of them.
    """
    columns, labels = np.unique(pairs.labels, return_inverse=True)
    model = clone(classifier) if len(columns) > 1 else DummyClassifier()
    weights = {str(weight_argument(model)): pairs.weights / pairs.weights.mean()}
    with _threads_for(len(pairs.rows), X):
        return model.fit(_safe_indexing(X, pairs.rows), labels, **weights), columns


def _predict(
    model: Estimator, columns: NDArray[np.intp], X: Matrix, n_labels: int
) -> NDArray[np.float64]:
    """Probabilities of all labels; zero for those that were not learned."""
    outputs = np.zeros((X.shape[0], n_labels))
    with _threads_for(X.shape[0], X):
        outputs[:, columns[model.classes_.astype(np.intp)]] = model.predict_proba(X)
    return outputs


def _threads_for(n_rows: int, X: Matrix) -> AbstractContextManager[Any]:
    """Context of one OpenMP thread if there are few numbers; BLAS is not limited.

    Threads of boosting wait for each other in busy loops. On a machine that computes something else
    60 rows took a minute, and one second with one thread.
    """
    few = n_rows * X.shape[1] < _FEW_NUMBERS
    return threadpool_limits(1, user_api="openmp") if few else nullcontext()


def _out_of_fold(
    classifier: Estimator,
    X: Matrix,
    pairs: _Pairs,
    support: Support,
    n_folds: int,
    n_jobs: int | None,
    seed: int,
) -> NDArray[np.float64]:
    """Probabilities of each row by a clone that was fitted without its fold."""
    n = support.n_rows
    folds = KFold(min(n_folds, n), shuffle=True, random_state=seed)

    def fit_and_predict(rest: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.float64]:
        used = np.zeros(n, dtype=bool)
        used[rest] = True
        fitted = _fit_pairs(classifier, X, pairs.take(used[pairs.rows]))
        return _predict(*fitted, _safe_indexing(X, rows), support.n_labels)

    splits = list(folds.split(np.empty(n)))
    found = Parallel(n_jobs=n_jobs)(delayed(fit_and_predict)(*split) for split in splits)
    outputs = np.empty((n, support.n_labels))
    for (_, rows), block in zip(splits, found, strict=True):
        outputs[rows] = block
    return outputs


def _out_of_bag(
    forest: Any, X: Matrix, pairs: _Pairs, support: Support, n_jobs: int | None, seed: int
) -> NDArray[np.float64]:
    """Mean probabilities of each row by the trees whose bootstrap sample lacks it.

    A forest of scikit-learn draws pairs, and would learn from a row by one candidate and predict it
    as out-of-bag by another: here a sample is drawn from the rows. A row that is in all samples has
    the mean probabilities of the others.
    """
    shared = {name: getattr(forest, name) for name in forest.estimator_params}
    tree = clone(forest.estimator).set_params(**shared)
    if forest.class_weight is not None:
        subsample = forest.class_weight == "balanced_subsample"
        tree.set_params(class_weight="balanced" if subsample else forest.class_weight)
    seeds = np.random.default_rng(seed).integers(np.iinfo(np.int32).max, size=forest.n_estimators)
    trees = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(_grow)(tree, X, pairs, each) for each in seeds.tolist()
    )
    total = np.zeros((support.n_rows, support.n_labels))
    for rows, columns, probabilities in trees:
        total[np.ix_(rows, columns)] += probabilities
    votes = total.sum(axis=1) > 0
    total[~votes] = total[votes].sum(axis=0)
    return normalize_votes(total)


def _grow(
    tree: Any, X: Matrix, pairs: _Pairs, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Fit a tree to a bootstrap sample: the other rows, its labels, and their probabilities."""
    n = X.shape[0]
    rng = np.random.default_rng(seed)
    counts = np.bincount(rng.integers(n, size=n), minlength=n)
    used = pairs.take(counts[pairs.rows] > 0)
    tree = clone(tree).set_params(random_state=seed)
    weights = used.weights * counts[used.rows]
    tree.fit(_safe_indexing(X, used.rows), used.labels, sample_weight=weights)
    rows = np.flatnonzero(counts == 0)
    if not len(rows):
        return rows, rows, np.empty((0, 0))
    return rows, tree.classes_, tree.predict_proba(_safe_indexing(X, rows))
