"""Candidate sets from the most likely labels of a classifier."""

from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn.bridges.score_table import are_probabilities, score_table, sets_of_mask
from ambilearn.candidates import CandidateSets


def candidates_from_top_k(
    scores: Any, k: int, *, X: Any = None, classes: Collection[Any] | None = None
) -> CandidateSets:
    r"""Candidate sets of the *k* most likely labels of a classifier.

    If :math:`s_{ij}` is the score of label *j* in row *i*, and :math:`s_{i(k)}` the *k*-th largest
    score of the row,

    .. math:: S_i = \{ j : s_{ij} \ge s_{i(k)} \}

    Ties keep the order of ``classes``. A set has *k* labels, or fewer if the scores are
    probabilities and fewer are positive: a label with probability zero is not a candidate.
    (Nearest neighbors and trees return many zeros.)

    Parameters
    ----------
    scores : array-like or data frame of shape (n_rows, n_labels), or fitted classifier
        Probabilities or decision scores, larger is more likely. For a classifier, the output of
        ``predict_proba`` for X, or of ``decision_function`` if there is no ``predict_proba``.
        A table has probabilities if no entry is negative and every row sums to one.
    k : int
        Largest size of a set, from 1 to the number of labels.
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features), optional
        The rows to classify; only for a classifier.
    classes : array-like of shape (n_labels,), optional
        The labels, in the order of the columns. By default ``classes_`` of the classifier, the
        columns of the data frame, or ``0 … n_labels - 1``.

    Returns
    -------
    CandidateSets

    See Also
    --------
    candidates_from_conformal : Sets with a given coverage.

    Examples
    --------
    >>> from ambilearn.bridges import candidates_from_top_k
    >>> scores = [[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]]
    >>> sets = candidates_from_top_k(scores, 2, classes=["cat", "dog", "fox"])
    >>> [sorted(row) for row in sets.to_sets()]
    [['dog', 'fox'], ['cat', 'dog']]

    Labels with probability zero are not candidates:

    >>> candidates_from_top_k([[0.6, 0.4, 0.0], [1.0, 0.0, 0.0]], 3).to_sets()
    [{0, 1}, {0}]

    With a classifier that was trained on a few labeled rows:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> candidates_from_top_k(GaussianNB().fit(X[::10], y[::10]), 2, X=X).covers(y).mean()
    np.float64(1.0)
    """
    if hasattr(scores, "predict"):
        scores, classes = _classifier_scores(scores, X, classes)
    elif X is not None:
        raise ValueError("X is used only with a classifier, but scores is a table: remove X.")
    table, classes = score_table(scores, classes)
    n_labels = table.shape[1]
    if not isinstance(k, Integral) or not 1 <= k <= n_labels:
        raise ValueError(
            f"k must be a whole number from 1 to the number of labels, {n_labels}; got {k!r}."
        )
    mask = _largest(table, int(k))
    if are_probabilities(table):
        mask &= table > 0
    return sets_of_mask(mask, classes)


def _largest(table: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Mask of the k largest entries of each row; ties keep the column order."""
    smallest = np.partition(table, -k, axis=1)[:, -k, None]
    above, tied = table > smallest, table == smallest
    n_tied = k - above.sum(axis=1, keepdims=True)
    mask: NDArray[np.bool_] = above | (tied & (tied.cumsum(axis=1) <= n_tied))
    return mask


def _classifier_scores(classifier: Any, X: Any, classes: Collection[Any] | None) -> tuple[Any, Any]:
    name = type(classifier).__name__
    if X is None:
        raise ValueError(f"With a classifier ({name}), pass the rows to classify as X=.")
    if classes is not None:
        raise ValueError(f"{name} has its own classes_: remove classes.")
    if hasattr(classifier, "predict_proba"):
        scores = classifier.predict_proba(X)
    elif hasattr(classifier, "decision_function"):
        scores = classifier.decision_function(X)
        if scores.ndim == 1:  # with two labels, the score of the second
            scores = np.column_stack([-scores, scores])
    else:
        raise ValueError(
            f"{name} has neither predict_proba nor decision_function: use another classifier, or "
            "pass a table of scores."
        )
    return scores, classifier.classes_
