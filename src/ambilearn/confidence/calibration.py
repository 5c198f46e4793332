r"""Calibrated confidences, and temperature scaling: sharpen or soften probabilities by one number.

Scores *s* become the probabilities :math:`\operatorname{softmax}(b\,s)` [1]_. *b* is the inverse
temperature: above 1 the probabilities are sharper than those of *b* = 1, below 1 flatter. The order
of the labels in a row does not change. With :math:`s = \log p` this is :math:`p^b`, normalized.

References
----------
.. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
       ICML 2017.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import softmax
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import AnyCandidates, Estimator, Matrix
from ambilearn.backend import HOST, HostSupport
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.confidence.held_out import HeldOut, hold_out
from ambilearn.learners import method_inside, without_preprocessing

_MIN_SINGLES = 20  # rows with a single candidate that the test needs at least
_THRESHOLD = 2.326  # standard errors: a one-sided test at 1 %
_MAX_ENTRIES = 5 * 10**7  # rows × labels
_BOUNDS = 0.5, 200.0  # of the inverse temperature
_PRIOR_SCALE = 1.0  # standard deviation of its logarithm
_SMALLEST = 1e-6  # of a probability whose logarithm is taken


@dataclass(frozen=True, eq=False)
class Calibration:
    """Confidences of a fitted classifier, or why there are none.

    Attributes
    ----------
    reason : str
        Why the scores were calibrated as they were, or why not; a clause for a report.
    inverse_temperature : float or None
        The factor *b* of :func:`scale_scores` for probabilities of new rows; None if they are not
        calibrated.
    of_logarithms : bool
        Whether the factor applies to the logarithms of the probabilities, and not to the
        probabilities themselves.
    cleaned : ndarray of shape (n_pairs,) or None
        Confidence of every candidate of the rows that were learned from, in the order of their
        :class:`~ambilearn.CandidateSets`; None if they are not calibrated.
    """

    reason: str
    inverse_temperature: float | None = None
    of_logarithms: bool = False
    cleaned: NDArray[np.float64] | None = field(default=None, repr=False)

    def scale(self, proba: ArrayLike) -> NDArray[np.float64] | None:
        """Calibrated probabilities of new rows.

        Parameters
        ----------
        proba : array-like of shape (n_rows, n_labels)
            Output of ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_rows, n_labels) or None
            None if new rows are not calibrated. The order of the labels in a row is that of
            ``proba``.
        """
        if self.inverse_temperature is None:
            return None
        scores = np.asarray(proba, dtype=np.float64)
        if self.of_logarithms:
            scores = np.log(np.maximum(scores, _SMALLEST))
        return scale_scores(scores, self.inverse_temperature)


def with_top_confidence(
    proba: NDArray[np.float64], rows: NDArray[np.intp], top: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Probabilities in which the most likely label of each row has a given confidence.

    A row with the largest probability *m* and *k* labels becomes :math:`(1 - \lambda) p + \lambda
    u`, where *u* is the uniform distribution if the confidence is below *m*, and all weight on the
    most likely label otherwise. The order of the labels does not change; the confidence is above
    :math:`1/k`.

    ``proba`` has the probability of each pair of a row and a label, and ``rows`` the rows of the
    pairs in ascending order; ``top`` has the confidence of the most likely label of each row.

    >>> import numpy as np
    >>> proba = np.array([0.5, 0.3, 0.2, 0.6, 0.4])
    >>> rows = np.array([0, 0, 0, 1, 1])
    >>> with_top_confidence(proba, rows, np.array([0.8, 0.55])).round(2)
    array([0.8 , 0.12, 0.08, 0.55, 0.45])
    """
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    uniform = 1 / np.diff(starts, append=len(rows))
    largest = np.maximum.reduceat(proba, starts)
    top = np.clip(top, uniform + 1e-3 * (largest - uniform), 1.0)
    raised = top >= largest
    gap = np.where(raised, 1 - largest, largest - uniform)
    share = np.divide(np.abs(top - largest), gap, out=np.zeros_like(top), where=gap > 0)
    is_top = np.zeros(len(proba))
    by_row = np.lexsort((-proba, rows))  # ties keep the order of the labels
    is_top[by_row[starts]] = 1.0
    target = np.where(raised[rows], is_top, uniform[rows])
    return (1 - share[rows]) * proba + share[rows] * target


def scale_scores(scores: ArrayLike, inverse_temperature: float) -> NDArray[np.float64]:
    r"""Probabilities :math:`\operatorname{softmax}(b\,s)` of scores *s*.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_labels)
        Scores of the labels, such as the logarithms of probabilities. A label with the score
        ``-inf`` has the probability 0.
    inverse_temperature : float
        The factor *b*, above 0.

    Returns
    -------
    ndarray of shape (n_rows, n_labels)
        Probabilities; the rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.confidence import scale_scores
    >>> scale_scores(np.log([[0.6, 0.3, 0.1]]), 2.0).round(2)
    array([[0.78, 0.2 , 0.02]])
    """
    return softmax(inverse_temperature * np.asarray(scores), axis=1)


def fit_temperature(
    scores: ArrayLike, targets: ArrayLike, *, bounds: tuple[float, float] = (0.1, 200.0)
) -> float:
    r"""Inverse temperature at which the mean confidence is the expected share of correct labels.

    .. math:: \frac1n \sum_i \max_j \operatorname{softmax}(b\,s_i)_j
              = \frac1n \sum_i T_{i \hat\jmath(i)}, \qquad \hat\jmath(i) = \arg\max_j s_{ij}

    Unlike the *b* with the smallest cross entropy to the targets, it hardly depends on single rows
    in which the target has a score that is far too low. Many methods give such a label the
    probability zero.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_labels)
        Scores *s* of rows that the classifier has not been fitted to; ``-inf`` for a label with
        probability 0.
    targets : array-like of shape (n_rows, n_labels)
        Probabilities *T* of the labels: one 1 in each row for known labels.
    bounds : tuple of float, default=(0.1, 200.0)
        Smallest and largest value.

    Returns
    -------
    float
        *b* for :func:`scale_scores`.

    Examples
    --------
    Three of four predictions with a probability of .9 are correct, so the probabilities are too
    high:

    >>> import numpy as np
    >>> from ambilearn.confidence import fit_temperature, scale_scores
    >>> scores = np.log([[0.9, 0.1]] * 4)
    >>> b = fit_temperature(scores, [[1, 0], [1, 0], [1, 0], [0, 1]])
    >>> scale_scores(scores, b)[0].round(2)
    array([0.75, 0.25])
    """
    scores, targets = np.asarray(scores, float), np.asarray(targets, float)
    if scores.ndim != 2 or scores.shape != targets.shape:
        raise ValueError(
            f"scores and targets must have the same shape (n_rows, n_labels); got {scores.shape} "
            f"and {targets.shape}."
        )
    if not (np.isfinite(scores.max(axis=1)).all() and np.isfinite(targets).all()):
        raise ValueError("scores and targets must be finite; a score may be -inf.")
    share = targets[np.arange(len(scores)), scores.argmax(axis=1)].mean()

    def excess(log_b: float) -> float:
        """Mean confidence above the share; it grows with *b*."""
        return float(scale_scores(scores, np.exp(log_b)).max(axis=1).mean() - share)

    low, high = np.log(bounds)
    if excess(low) >= 0:
        return bounds[0]
    return bounds[1] if excess(high) <= 0 else float(np.exp(brentq(excess, low, high)))


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
    if n_singles < _MIN_SINGLES:
        return Calibration(f"only {rows}, and {_MIN_SINGLES} are needed")
    if sets.shape[0] * sets.shape[1] > _MAX_ENTRIES:
        return Calibration("too many rows and labels to calibrate")
    proba = held_out().probabilities(sets.shape)
    labels = sets.labels[sets.indptr[:-1][single]]
    if _excess_hits(proba[single], labels) <= _THRESHOLD:
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
