"""Calibrate confidences that were learned from candidate sets, without true labels."""

from collections.abc import Callable, Collection
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import AnyCandidates, Estimator, Matrix
from ambilearn.backend import HOST, HostSupport
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.confidence.calibration import Calibration, scale_scores, with_top_confidence
from ambilearn.confidence.held_out import HeldOut, hold_out
from ambilearn.learners import method_inside, without_preprocessing

MIN_SINGLES = 20  # rows with a single candidate that the test needs at least
THRESHOLD = 2.326  # standard errors: a one-sided test at 1 %
MAX_ENTRIES = 5 * 10**7  # rows × labels
_BOUNDS = 0.5, 200.0  # of the inverse temperature
_PRIOR_SCALE = 1.0  # standard deviation of its logarithm


def calibrate_candidates(
    model: Estimator,
    X: Matrix,
    y: AnyCandidates,
    *,
    n_folds: int | None = None,
    exclude: Collection[int] = (),
    random_state: int = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> Calibration:
    r"""Calibrate a fitted method by the rows with a single candidate.

    The label of a row with a single candidate is known. If held-out probabilities are too low on
    these rows, they are sharpened by a temperature; otherwise nothing is changed. Larger candidate
    sets cannot decide this: the same sets can come from data with different shares of correct
    labels.

    1. *H* are held-out probabilities of all rows, from the outputs that
       :func:`ambilearn.find_doubtful` uses: in closed form for a kernel method, for a stack or a
       vote those of its first such member; those of the fit itself, if its outputs on the training
       rows are held out (``CandidateClassifier``, ``PLKNN``); of others by fits to two halves.
    2. :math:`z = \sum_i ([\hat y_i = y_i] - \max H_i) / \sqrt{\sum_i \max H_i (1 - \max H_i)}`
       over the rows with a single candidate. If there are fewer than 20 such rows, or *z* is at
       most 2.326, nothing is changed.
    3. The inverse temperature *b* is the smaller one of two that maximize
       :math:`\sum_i \log \sum_{j \in S_i} \operatorname{softmax}(b H_i)_j`, over all rows and over
       the rows with a single candidate, with the prior :math:`\log b \sim N(0, 1)`: where no
       row contradicts a large *b*, only the prior limits it.

    New rows have the confidences :math:`\operatorname{softmax}(b\,p)` with the probabilities *p* of
    the model. A cleaned row has for its label the product of ``label_distributions_`` and the
    square root of :math:`\operatorname{softmax}(b H_i)`, normalized on its candidates; its label
    stays the same.

    Parameters
    ----------
    model : fitted estimator
        A method, a pipeline that ends in one, or a search over one. It is not changed.
    X : array-like, data frame or sparse matrix of shape (n, d)
        The rows it was fitted to.
    y : candidate sets of n rows, in any accepted form
        Their candidate sets.
    n_folds : int, optional
        Number of folds, with one fit each. By default there are none if the method has a closed
        form, and two otherwise.
    exclude : collection of int, default=()
        Rows whose single candidate does not count, because they were not drawn at random: rows
        that a person chose to correct.
    random_state : int, default=0
        Seed of the folds.
    progress : callable, optional
        Called with a status message before each fit.

    Returns
    -------
    Calibration
        With ``reason``, also if nothing is changed.

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> from ambilearn.confidence import calibrate_candidates
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> data = load_dataset("digits")
    >>> X, y = data.X[:200] / 16, data.y[:200]
    >>> sets, _ = make_candidates(y, p=0.5, r=2, random_state=0)
    >>> model = PLCL().fit(X, sets)
    >>> calibration = calibrate_candidates(model, X, sets)
    >>> calibration.reason
    'the scores are too low on the 100 rows with a single candidate'
    >>> proba = model.predict_proba(data.X[200:201] / 16)
    >>> float(proba.max().round(2)), float(calibration.scale(proba).max().round(2))
    (0.67, 0.99)
    """
    learner = method_inside(model)
    if learner is None:
        raise TypeError(f"{type(model).__name__} does not learn from candidate sets.")
    check_is_fitted(learner)
    (X,) = indexable(X)
    sets = as_candidates(to_numpy(y), n_rows=_num_samples(X))
    if learner.label_distributions_.shape != sets.shape:
        raise ValueError(
            f"There are {sets.shape[0]} rows and {sets.shape[1]} labels, but the model was fitted "
            "to {} and {}: pass the rows and the candidate sets of the fit.".format(
                *learner.label_distributions_.shape
            )
        )
    sets = as_candidates(to_numpy(y), classes=learner.classes_)  # in the order of the model
    X, estimator = without_preprocessing(X, model)
    estimator = learner if learner._train_output_is_held_out else estimator
    support = HOST.support(sets)

    def held_out() -> HeldOut:
        return hold_out(estimator, X, support, n_folds, random_state, progress, fitted=True)

    return calibrate_outputs(learner, sets, held_out, exclude)


def calibrate_outputs(
    learner: PartialLabelClassifier,
    sets: CandidateSets,
    held_out: Callable[[], HeldOut],
    exclude: Collection[int] = (),
) -> Calibration:
    """Calibrate a method that was fitted to the sets; ``held_out`` is called if it is needed."""
    single = sets.sizes == 1
    single[_check_rows(exclude, len(single))] = False
    n_singles = int(single.sum())
    rows = pluralize(n_singles, "row")
    if (sets.sizes > 1).any():
        rows += " with a single candidate"
    if n_singles < MIN_SINGLES:
        return Calibration(f"only {rows}, and {MIN_SINGLES} are needed")
    if sets.shape[0] * sets.shape[1] > MAX_ENTRIES:
        return Calibration("too many rows and labels to calibrate")
    proba = held_out().probabilities(sets.shape)
    labels = sets.labels[sets.indptr[:-1][single]]
    if _excess_hits(proba[single], labels) <= THRESHOLD:
        return Calibration(
            f"calibration only raises scores, and they are not too low on the {rows}"
        )
    b = min(_fit_to_sets(proba, sets), _fit_to_sets(proba[single], sets[single]))
    cleaned = _pool(HOST.support(sets), learner.label_distributions_, scale_scores(proba, b))
    return Calibration(f"the scores are too low on the {rows}", b, cleaned=cleaned)


def _check_rows(exclude: Collection[int], n_rows: int) -> list[int]:
    for row in (rows := list(exclude)):
        is_number = isinstance(row, Integral) and not isinstance(row, bool)
        if not is_number or not 0 <= row < n_rows:
            raise ValueError(
                f"exclude has {row!r}, which is not a row: rows are numbered 0 to {n_rows - 1}."
            )
    return rows


def _excess_hits(proba: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Hits of the most likely label above their expectation, in standard errors."""
    top = proba.max(axis=1)
    hits = proba.argmax(axis=1) == labels
    return float((hits - top).sum() / np.sqrt(max((top * (1 - top)).sum(), 1e-12)))


def _fit_to_sets(held_out: NDArray[np.float64], sets: CandidateSets) -> float:
    """Inverse temperature at which the candidate sets are most likely."""
    support = HOST.support(sets)

    def loss(log_b: float) -> float:
        inside = support.gather(scale_scores(held_out, float(np.exp(log_b))))
        likelihood = np.log(np.add.reduceat(inside, sets.indptr[:-1]) + 1e-300).sum()
        return float(log_b**2 / (2 * _PRIOR_SCALE**2) - likelihood)

    found = minimize_scalar(loss, bounds=np.log(_BOUNDS), method="bounded")
    return float(np.exp(found.x))


def _pool(
    support: HostSupport, distributions: Any, held_out: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Confidence of every candidate: the label of each row has that of the product."""
    learned = support.gather(to_numpy(distributions))
    pooled = learned * np.sqrt(support.gather(held_out)) + 1e-12
    starts = support.sets.indptr[:-1]
    pooled /= np.add.reduceat(pooled, starts)[support.rows]
    return with_top_confidence(learned, support.rows, pooled[support.best_pairs(learned)])
