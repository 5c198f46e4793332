"""Scores from candidate sets alone, without true labels."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ambilearn._utils.suspicious_labels import check_comparable_labels
from ambilearn._utils.types import AnyCandidates, Estimator
from ambilearn.backend import HOST
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.masks import is_unnamed_mask
from ambilearn.metrics.checks import check_labels, check_scores, find_positions, mean_score


def covering_rate(
    y_candidates: AnyCandidates, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Share of rows whose predicted label is a candidate; needs no true label.

    .. math:: \mathrm{CR} = \frac1n \sum_i [\hat y_i \in S_i]

    An upper bound on the accuracy, because the true label is always a candidate. The bound is loose
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
    y_pred = check_labels(y_pred)
    if len(y_pred) != len(sets):
        raise ValueError(
            f"There are {len(sets)} candidate sets but {len(y_pred)} predicted labels: pass one "
            "prediction for each set."
        )
    check_comparable_labels(sets.classes, y_pred, "y_candidates", "the predicted labels")
    return mean_score(sets.covers(y_pred), sample_weight)


def approximated_accuracy(
    y_candidates: AnyCandidates,
    proba: Any,
    classes: Collection[object] | None = None,
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
    columns = sets.classes if classes is None else check_labels(classes)
    check_comparable_labels(sets.classes, columns, "y_candidates", "the classes")
    proba = check_scores(proba, len(sets), len(columns), "proba")
    if sparse.issparse(proba):
        proba = proba.toarray()
    wrong = ((proba < 0) | np.isinf(proba)).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"proba has negative or infinite entries, the first in row {int(wrong.argmax())}: pass "
            "the output of predict_proba, not decision values."
        )
    predicted = proba.argmax(axis=1)
    # Probability of each (row, candidate) pair; zero for a label without a column.
    column = find_positions(sets.classes, columns)[sets.labels]
    support = HOST.support(sets)
    weights = np.where(column >= 0, proba[support.rows, column], 0.0)
    mass = np.add.reduceat(weights, sets.indptr[:-1])
    share = weights / np.where(mass > 0, mass, 1.0)[support.rows]
    share = np.where((mass > 0)[support.rows], share, support.uniform())
    hits = column == predicted[support.rows]
    if sample_weight is None:
        return float(share[hits].sum() / len(sets))
    return mean_score(np.bincount(support.rows[hits], share[hits], len(sets)), sample_weight)


def covering_rate_scorer(
    estimator: Estimator, X: Any, y: AnyCandidates, sample_weight: ArrayLike | None = None
) -> float:
    """Covering rate of a fitted estimator, to be passed as ``scoring``.

    Parameters
    ----------
    estimator : fitted classifier
        Anything with ``predict``.
    X : array-like of shape (n_rows, n_features)
        Held-out rows.
    y : candidate sets of n_rows rows, in any accepted form
        A mask without names has the labels of the estimator. scikit-learn's searches can split a
        mask or :class:`~ambilearn.CandidateSets` into folds.
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
    sets = _sets_of(estimator, y)
    return covering_rate(sets, estimator.predict(X), sample_weight=sample_weight)


def approximated_accuracy_scorer(
    estimator: Estimator, X: Any, y: AnyCandidates, sample_weight: ArrayLike | None = None
) -> float:
    """Approximated accuracy of a fitted estimator, to be passed as ``scoring``.

    Parameters
    ----------
    estimator : fitted classifier
        Anything with ``predict_proba`` and ``classes_``.
    X : array-like of shape (n_rows, n_features)
        Held-out rows.
    y : candidate sets of n_rows rows, in any accepted form
        A mask without names has the labels of the estimator. scikit-learn's searches can split a
        mask or :class:`~ambilearn.CandidateSets` into folds.
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
        _sets_of(estimator, y),
        estimator.predict_proba(X),
        classes=estimator.classes_,
        sample_weight=sample_weight,
    )


def _sets_of(estimator: Estimator, y: AnyCandidates) -> CandidateSets:
    """Candidate sets; a mask without names has the labels of the estimator."""
    y = to_numpy(y)
    classes = to_numpy(getattr(estimator, "classes_", None))
    return as_candidates(y, classes=classes if is_unnamed_mask(y) else None)


# Scores by the names that searches accept.
SCORERS = {
    "approximated_accuracy": approximated_accuracy_scorer,
    "covering_rate": covering_rate_scorer,
}
