r"""Scores with and without true labels.

Notation: row *i* has the candidate set :math:`S_i`, the true label :math:`y_i` and the predicted
label :math:`\hat y_i`; :math:`[\cdot]` is 1 if the condition holds and 0 otherwise.

With true labels: :func:`tolerance_accuracy` and :func:`transductive_accuracy`, in addition to
:func:`sklearn.metrics.accuracy_score` for predictions.
Of confidences: :func:`expected_calibration_error` and :func:`excess_calibration_error`.
From candidate sets alone: :func:`covering_rate`, :func:`approximated_accuracy`, and as scorers for
scikit-learn's searches :func:`covering_rate_scorer`, :func:`approximated_accuracy_scorer`. Every
score takes ``sample_weight``, and is then the weighted mean over the rows.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ambilearn._utils.feature_types import as_numbers
from ambilearn._utils.label_array import label_array
from ambilearn._utils.label_kinds import check_comparable_labels
from ambilearn._utils.missing import is_missing
from ambilearn._utils.structure import check_structure
from ambilearn.backend import HOST
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import check_weights
from ambilearn.candidates import as_candidates

__all__ = [
    "TransductiveAccuracy",
    "approximated_accuracy",
    "approximated_accuracy_scorer",
    "covering_rate",
    "covering_rate_scorer",
    "excess_calibration_error",
    "expected_calibration_error",
    "tolerance_accuracy",
    "transductive_accuracy",
]


def tolerance_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    tolerance: float,
    classes: Collection[Any] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Share of rows whose label is missed by no more than a tolerance.

    .. math:: \frac1n \sum_i [\, |\hat y_i - y_i| \le t \,]

    The PL-CL paper calls this MAE3 and MAE5 for :math:`t = 3` and :math:`t = 5` (years of age, on
    FG-NET).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        True and predicted labels.
    tolerance : float
        Largest difference that still counts as right, *t*.
    classes : array-like of shape (n_labels,), optional
        Labels in their order. If given, the difference is that of the positions in this order;
        otherwise labels must be numbers.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> from ambilearn.metrics import tolerance_accuracy
    >>> tolerance_accuracy([20, 31, 40], [23, 31, 44], tolerance=3)
    0.6666666666666666
    >>> tolerance_accuracy(["xs", "m"], ["s", "xl"], 1, classes=["xs", "s", "m", "l", "xl"])
    0.5
    """
    y_true, y_pred = _same_length(y_true, y_pred)
    if classes is not None:
        codes = _codes(y_true, classes), _codes(y_pred, classes)
        for labels, code in zip((y_true, y_pred), codes, strict=True):
            if (code < 0).any():
                unknown = labels[code < 0].tolist()[0]
                raise ValueError(
                    f"The label {unknown!r} is not among the classes: pass all labels, in their "
                    "order, as classes=."
                )
        y_true, y_pred = codes
    elif not all(y.dtype.kind in "biuf" for y in (y_true, y_pred)):
        raise ValueError("The labels are not numbers: pass their order as classes=.")
    hits = np.abs(y_true.astype(float) - y_pred.astype(float)) <= tolerance
    return _mean(hits, sample_weight)


class TransductiveAccuracy(NamedTuple):
    """Accuracy on the training rows, by three definitions."""

    confidences: float
    outputs_in_set: float
    outputs: float


def transductive_accuracy(
    y_true: ArrayLike,
    y_candidates: Any,
    confidences: Any,
    outputs: ArrayLike,
    classes: Collection[Any] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> TransductiveAccuracy:
    r"""Accuracy on the training rows: how well the candidate sets were disambiguated.

    Three definitions are in use, which differ by several percentage points:

    - ``confidences``: :math:`\hat y_i = \arg\max_{j \in S_i} P_{ij}`, from the label confidences
      *P* that the method learned (``label_distributions_``);
    - ``outputs_in_set``: :math:`\hat y_i = \arg\max_{j \in S_i} H_{ij}`, from the output *H* of the
      classifier on the training rows;
    - ``outputs``: :math:`\hat y_i = \arg\max_j H_{ij}` over all labels.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Hidden true labels of the training rows.
    y_candidates : candidate sets of n_rows rows, in any accepted form
        What the method was trained on.
    confidences : array-like or sparse matrix of shape (n_rows, n_labels)
        Label confidences *P*.
    outputs : array-like of shape (n_rows, n_labels)
        Classifier outputs *H* on the training rows. With two labels also of shape (n_rows,), large
        for the second label, as ``decision_function`` has it.
    classes : array-like of shape (n_labels,), optional
        Labels of the columns; by default those of ``y_candidates``.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    TransductiveAccuracy
        All three readings, a named tuple.

    Examples
    --------
    >>> from ambilearn.metrics import transductive_accuracy
    >>> P = [[0.6, 0.4, 0.0], [0.0, 0.3, 0.7]]
    >>> H = [[0.2, 0.3, 0.1], [0.9, 0.1, 0.5]]
    >>> transductive_accuracy([0, 2], [{0, 1}, {1, 2}], P, H)
    TransductiveAccuracy(confidences=1.0, outputs_in_set=0.5, outputs=0.0)
    """
    sets = as_candidates(y_candidates, classes=classes)
    support = HOST.support(sets)
    P = _scores(confidences, *sets.shape, "confidences")
    if sparse.issparse(outputs):
        raise ValueError(
            "outputs is sparse, so it has no entry for labels that are not candidates, which the "
            "third reading needs: pass model.decision_function(X)."
        )
    check_structure(outputs, "outputs")
    H = as_numbers(to_numpy(outputs), "outputs")
    if H.ndim == 1 and len(sets.classes) == 2:
        H = np.multiply.outer(H, [-1.0, 1.0])
    H = _scores(H, *sets.shape, "outputs")
    return TransductiveAccuracy(
        confidences=_accuracy(y_true, support.best(P), sample_weight),
        outputs_in_set=_accuracy(y_true, support.best(H), sample_weight),
        outputs=_accuracy(y_true, sets.classes[H.argmax(axis=1)], sample_weight),
    )


def expected_calibration_error(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean difference between the confidence of labels and the share of them that is correct.

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \left| \frac{1}{n_b} \sum_{i \in B_b}
        (c_i - [\hat y_i = y_i]) \right|

    with the confidences :math:`c_i` and bins :math:`B_b` of equal size by their rank [1]_. Rows of
    equal confidence count as their mean, so the result does not depend on the order of the rows.

    Parameters
    ----------
    correct : array-like of shape (n_rows,)
        Whether each label is correct: truth values, or 0 and 1.
    confidence : array-like of shape (n_rows,)
        Confidence of each label, between 0 and 1.
    n_bins : int, default=10
        Number of bins.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row. Bins then have equal total weight.

    Returns
    -------
    float
        0 is best. With few rows, even perfect confidences have an error above 0: see
        :func:`excess_calibration_error`.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
           ICML 2017.

    Examples
    --------
    >>> from ambilearn.metrics import expected_calibration_error
    >>> round(expected_calibration_error([1, 1, 0, 1], [0.9, 0.9, 0.6, 0.6], n_bins=2), 2)
    0.1
    """
    hits, confidence, weights = _confidence_rows(correct, confidence, sample_weight)
    return _CalibrationBins(confidence, weights, n_bins).error(hits)


def excess_calibration_error(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
    n_draws: int = 200,
    random_state: Any = 0,
) -> float:
    r"""Calibration error above what chance explains.

    The expected calibration error minus the mean of the same error for outcomes that are drawn from
    the confidences themselves, :math:`P(\text{correct}_i) = c_i`. Its expectation is 0 for perfect
    confidences, whatever the number of rows.

    Parameters
    ----------
    correct, confidence, n_bins, sample_weight
        As for :func:`expected_calibration_error`.
    n_draws : int, default=200
        Number of outcomes that are drawn.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    float
        May be negative.

    Examples
    --------
    >>> from ambilearn.metrics import excess_calibration_error
    >>> confidence = [0.5] * 50 + [0.9] * 50
    >>> bool(excess_calibration_error([0, 1] * 25 + [1] * 45 + [0] * 5, confidence) < 0)
    True
    """
    hits, confidence, weights = _confidence_rows(correct, confidence, sample_weight)
    bins = _CalibrationBins(confidence, weights, n_bins)
    rng = check_random_state(random_state)
    drawn = [bins.error(rng.uniform(size=len(hits)) < confidence) for _ in range(n_draws)]
    return bins.error(hits) - float(np.mean(drawn))


def covering_rate(
    y_candidates: Any, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Share of rows whose predicted label is a candidate; needs no true label.

    .. math:: \mathrm{CR} = \frac1n \sum_i [\hat y_i \in S_i]

    An upper bound of the accuracy, since the true label is always a candidate. The bound is loose
    for large candidate sets.

    Parameters
    ----------
    y_candidates : candidate sets of n_rows rows, in any accepted form
        A mask without names has the labels ``0 … n_labels - 1``.
    y_pred : array-like of shape (n_rows,)
        Predicted labels.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float

    See Also
    --------
    covering_rate_scorer : For ``GridSearchCV(..., scoring=covering_rate_scorer)``.

    References
    ----------
    .. [1] W. Wang, D.-D. Wu, J. Wang, G. Niu, M.-L. Zhang, M. Sugiyama, "Realistic evaluation of
           deep partial-label learning algorithms", ICLR 2025.

    Examples
    --------
    >>> from ambilearn.metrics import covering_rate
    >>> covering_rate([{"a", "b"}, {"c"}, {"b", "c"}, {"a"}], ["a", "b", "c", "a"])
    0.75
    """
    sets = as_candidates(y_candidates)
    y_pred = _vector(y_pred)
    if len(y_pred) != len(sets):
        raise ValueError(
            f"There are {len(sets)} candidate sets but {len(y_pred)} predicted labels: pass one "
            "prediction for each set."
        )
    check_comparable_labels(sets.classes, y_pred, "y_candidates", "the predicted labels")
    return _mean(sets.covers(y_pred), sample_weight)


def approximated_accuracy(
    y_candidates: Any,
    proba: Any,
    classes: Collection[Any] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Accuracy estimated from candidate sets and predicted probabilities.

    .. math::

        \mathrm{AA} = \frac1n \sum_i [\hat y_i \in S_i]\,
        \frac{f_{\hat y_i}(x_i)}{\sum_{k \in S_i} f_k(x_i)},
        \qquad \hat y_i = \arg\max_j f_j(x_i)

    with :math:`f_j(x_i)` the predicted probabilities. It needs no true label. Each candidate is the
    true label with the weight that the model gives it among the candidates; a prediction outside
    the set counts as wrong. It is never above the covering rate and, unlike it, decreases if other
    candidates are nearly as likely as the prediction. (If all candidates have probability zero,
    they have equal weights.)

    Parameters
    ----------
    y_candidates : candidate sets of n_rows rows, in any accepted form
        A mask without names has the labels ``0 … n_labels - 1``.
    proba : array-like of shape (n_rows, n_columns)
        Predicted probabilities, as of ``predict_proba``: not negative.
    classes : array-like of shape (n_columns,), optional
        Labels of the columns of ``proba``; by default those of ``y_candidates``.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float

    See Also
    --------
    approximated_accuracy_scorer : For ``GridSearchCV``.

    References
    ----------
    .. [1] W. Wang, D.-D. Wu, J. Wang, G. Niu, M.-L. Zhang, M. Sugiyama, "Realistic evaluation of
           deep partial-label learning algorithms", ICLR 2025.

    Examples
    --------
    >>> from ambilearn.metrics import approximated_accuracy
    >>> proba = [[0.75, 0.25, 0.0], [0.125, 0.25, 0.625]]
    >>> approximated_accuracy([{0, 1}, {0, 1}], proba, classes=[0, 1, 2])
    0.375
    """
    sets = as_candidates(y_candidates)
    columns = sets.classes if classes is None else _vector(classes)
    check_comparable_labels(sets.classes, columns, "y_candidates", "the classes")
    proba = _scores(proba, len(sets), len(columns), "proba")
    if sparse.issparse(proba):
        proba = proba.toarray()
    if (proba < 0).any():
        i = int(np.flatnonzero((proba < 0).any(axis=1))[0])
        raise ValueError(
            f"proba has negative entries, the first in row {i}: pass the output of predict_proba, "
            "not decision values."
        )
    predicted = proba.argmax(axis=1)
    # Probability of each (row, candidate) pair; zero for a label without a column.
    column = _codes(sets.classes, columns)[sets.labels]
    support = HOST.support(sets)
    weights = np.where(column >= 0, proba[support.rows, column], 0.0)
    mass = np.add.reduceat(weights, sets.indptr[:-1])
    share = weights / np.where(mass > 0, mass, 1.0)[support.rows]
    share = np.where((mass > 0)[support.rows], share, support.uniform())
    hits = column == predicted[support.rows]
    if sample_weight is None:
        return float(share[hits].sum() / len(sets))
    return _mean(np.bincount(support.rows[hits], share[hits], len(sets)), sample_weight)


def covering_rate_scorer(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
) -> float:
    """Covering rate of a fitted estimator, to be passed as ``scoring``.

    Parameters
    ----------
    estimator : fitted classifier
        Anything with ``predict``.
    X : array-like of shape (n_rows, n_features)
        Held-out rows.
    y : candidate sets of n_rows rows, in any accepted form
        scikit-learn's searches can split a mask or :class:`~ambilearn.CandidateSets` into folds.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from ambilearn.metrics import covering_rate_scorer
    >>> model = DummyClassifier(strategy="constant", constant=1).fit([[0], [1]], [0, 1])
    >>> covering_rate_scorer(model, [[0], [1]], np.array([[1, 1], [1, 0]]))
    0.5
    """
    return covering_rate(y, estimator.predict(X), sample_weight=sample_weight)


def approximated_accuracy_scorer(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
) -> float:
    """Approximated accuracy of a fitted estimator, to be passed as ``scoring``.

    Parameters
    ----------
    estimator : fitted classifier
        Anything with ``predict_proba`` and ``classes_``.
    X : array-like of shape (n_rows, n_features)
        Held-out rows.
    y : candidate sets of n_rows rows, in any accepted form
        scikit-learn's searches can split a mask or :class:`~ambilearn.CandidateSets` into folds.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from ambilearn.metrics import approximated_accuracy_scorer
    >>> model = DummyClassifier().fit([[0], [1], [2], [3]], [0, 1, 1, 1])
    >>> approximated_accuracy_scorer(model, [[0], [1]], np.array([[1, 1], [1, 0]]))
    0.375
    """
    return approximated_accuracy(
        y,
        estimator.predict_proba(X),
        classes=estimator.classes_,
        sample_weight=sample_weight,
    )


# Scores by the names that searches accept.
SCORERS = {
    "approximated_accuracy": approximated_accuracy_scorer,
    "covering_rate": covering_rate_scorer,
}


class _CalibrationBins:
    """Rows in bins of equal weight by the rank of their confidence."""

    def __init__(
        self, confidence: NDArray[np.float64], weights: NDArray[np.float64], n_bins: int
    ) -> None:
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1, and is {n_bins}.")
        self._order = np.argsort(confidence, kind="stable")
        self._weights = weights[self._order]
        ranked = confidence[self._order]
        self._ties = np.flatnonzero(np.r_[True, ranked[1:] > ranked[:-1]])
        place = (np.cumsum(self._weights) - self._weights / 2) / self._weights.sum()
        self._bins = np.searchsorted(place, np.arange(n_bins) / n_bins)
        self._bins = np.unique(self._bins[self._bins < len(ranked)])
        self._expected = np.add.reduceat(self._weights * ranked, self._bins)

    def error(self, hits: NDArray[Any]) -> float:
        """Calibration error of hits and misses."""
        tie_weights = np.add.reduceat(self._weights, self._ties)
        shares = np.add.reduceat(self._weights * hits[self._order], self._ties)
        shares /= np.where(tie_weights > 0, tie_weights, 1.0)
        lengths = np.diff(np.r_[self._ties, len(hits)])
        observed = np.add.reduceat(self._weights * np.repeat(shares, lengths), self._bins)
        return float(np.abs(observed - self._expected).sum() / self._weights.sum())


def _confidence_rows(
    correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Checked hits, confidences and weights."""
    values = []
    for name, given in (("correct", correct), ("confidence", confidence)):
        check_structure(given, name)
        value = as_numbers(to_numpy(given), name).astype(np.float64)
        if value.ndim != 1 or not len(value):
            raise ValueError(f"{name} must have the shape (n_rows,), and has {value.shape}.")
        if not ((value >= 0) & (value <= 1)).all():
            i = int(np.flatnonzero(~((value >= 0) & (value <= 1)))[0])
            raise ValueError(f"{name} must be between 0 and 1; in row {i} it is {value[i]:g}.")
        values.append(value)
    hits, confidence = values
    if len(hits) != len(confidence):
        raise ValueError(
            f"There are {len(confidence)} confidences, but correct has {len(hits)} rows: pass one "
            "of each for every row."
        )
    if sample_weight is None:
        return hits, confidence, np.ones(len(hits))
    return hits, confidence, check_weights(sample_weight, hits)


def _accuracy(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
    y_true, y_pred = _same_length(y_true, y_pred)
    check_comparable_labels(y_true, y_pred, "y_true", "the predicted labels")
    return _mean(y_true == y_pred, sample_weight)


def _mean(scores: NDArray[Any], sample_weight: ArrayLike | None) -> float:
    """Mean over the rows, weighted if weights are given."""
    if sample_weight is None:
        return float(np.mean(scores))
    return float(np.average(scores, weights=check_weights(sample_weight, scores)))


def _codes(labels: NDArray[Any], classes: Collection[Any]) -> NDArray[np.intp]:
    """Position of each label among the classes, -1 where it is none of them."""
    position = {label: j for j, label in enumerate(_vector(classes).tolist())}
    found = (position.get(label, -1) for label in labels.tolist())
    return np.fromiter(found, dtype=np.intp, count=len(labels))


def _vector(labels: ArrayLike | Collection[Any]) -> NDArray[Any]:
    labels = to_numpy(labels)
    check_structure(labels, "The labels")
    labels = label_array(labels) if isinstance(labels, (list, tuple)) else np.asarray(labels)
    several = labels.dtype == object and any(isinstance(each, (list, set)) for each in labels.flat)
    if labels.ndim != 1 or several:
        raise ValueError(
            f"Expected one label for each row, got {'several' if several else 'an array'} of shape "
            f"{labels.shape}: pass labels of shape (n_rows,)."
        )
    for i, label in enumerate(labels.tolist() if labels.dtype.kind in "fcMmO" else ()):
        if is_missing(label):
            raise ValueError(f"The label of row {i} is missing ({label!r}): leave such rows out.")
    return labels


def _same_length(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    y_true, y_pred = _vector(y_true), _vector(y_pred)
    if len(y_true) != len(y_pred) or not len(y_true):
        raise ValueError(
            f"There are {len(y_true)} true but {len(y_pred)} predicted labels: pass one of each "
            "for every row, and at least one row."
        )
    return y_true, y_pred


def _scores(matrix: Any, n_rows: int, n_columns: int, name: str) -> Any:
    """Checked scores: an array, or a CSR matrix where they came sparse."""
    check_structure(matrix, name)
    if sparse.issparse(matrix):
        matrix = sparse.csr_array(matrix, dtype=np.float64)
        values = matrix.data
    else:
        matrix = values = as_numbers(to_numpy(matrix), name)
    if matrix.shape != (n_rows, n_columns):
        raise ValueError(
            f"{name} must have the shape ({n_rows}, {n_columns}): a row for each candidate set, a "
            f"column for each label. It has {matrix.shape}."
        )
    if np.isnan(values).any():
        i = int(np.min(np.isnan(matrix).nonzero()[0]))
        raise ValueError(f"{name} contains NaN in row {i}: leave such rows out, or fill them in.")
    return matrix
