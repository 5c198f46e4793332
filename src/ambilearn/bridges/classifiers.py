"""Candidate sets from other classifiers: their most likely labels, or prediction sets."""

from collections.abc import Collection
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from ambilearn._utils.array_checks import as_numbers, check_structure, column_names
from ambilearn._utils.labels import listed_labels
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Estimator, Matrix
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.metrics.checks import are_probabilities


def candidates_from_top_k(
    scores: Any, k: int, *, X: Matrix = None, classes: Collection[object] | None = None
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
    candidates_from_prediction_sets : Candidate sets from conformal prediction sets.

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
    if are_probabilities(table).all():
        mask &= table > 0
    return _sets_of_mask(mask, classes)


def _largest(table: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Mask of the k largest entries of each row; ties keep the column order."""
    smallest = np.partition(table, -k, axis=1)[:, -k, None]
    above, tied = table > smallest, table == smallest
    n_tied = k - above.sum(axis=1, keepdims=True)
    return above | (tied & (tied.cumsum(axis=1) <= n_tied))


def _classifier_scores(
    classifier: Estimator, X: Matrix, classes: Collection[object] | None
) -> tuple[Any, Any]:
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


def candidates_from_prediction_sets(
    prediction_sets: Any, probabilities: Any = None, *, classes: Collection[object] | None = None
) -> CandidateSets:
    """Candidate sets from prediction sets, such as the conformal prediction sets of MAPIE.

    Parameters
    ----------
    prediction_sets : array-like or data frame of shape (n_rows, n_labels) or (n_rows, n_labels, 1)
        True or 1 where the label is in the row's set.
    probabilities : array-like or data frame of shape (n_rows, n_labels), optional
        Output of ``predict_proba`` for these rows. A row with an empty set gets its most likely
        label (the first of equal ones); without probabilities, an empty set is an error.
    classes : array-like of shape (n_labels,), optional
        The labels, in the order of the columns. By default the columns of a data frame, or
        ``0 … n_labels - 1``.

    Returns
    -------
    CandidateSets

    Examples
    --------
    >>> from ambilearn.bridges import candidates_from_prediction_sets
    >>> prediction_sets = [[True, True, False], [False, False, False]]
    >>> probabilities = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3]]
    >>> sets = candidates_from_prediction_sets(
    ...     prediction_sets, probabilities, classes=["cat", "dog", "fox"]
    ... )
    >>> [sorted(row) for row in sets.to_sets()]
    [['cat', 'dog'], ['dog']]
    """
    if isinstance(prediction_sets, tuple):
        raise ValueError(
            "prediction_sets is a tuple, such as the pair (labels, sets) of MAPIE: pass only the "
            "array of the sets."
        )
    if getattr(prediction_sets, "ndim", 2) == 3:
        if prediction_sets.shape[2] != 1:
            raise ValueError(
                f"prediction_sets has {prediction_sets.shape[2]} confidence levels, shape "
                f"{prediction_sets.shape}: choose one, for instance prediction_sets[:, :, 0]."
            )
        prediction_sets = np.asarray(prediction_sets)[:, :, 0]
    table, classes = score_table(prediction_sets, classes, "prediction_sets")
    wrong = np.argwhere((table != 0) & (table != 1))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise ValueError(
            f"prediction_sets is not 0/1: row {i}, column {j} has the value {table[i, j]:g}. Pass "
            "True or 1 where a label is in the row's set; candidates_from_top_k makes candidates "
            "from probabilities."
        )
    empty = np.flatnonzero(~table.any(axis=1))
    if len(empty):
        if probabilities is None:
            raise ValueError(
                f"The prediction set of row {empty[0]} is empty "
                f"({pluralize(len(empty), 'such row')}). Pass the probabilities as well, so that "
                "such rows get their most likely label."
            )
        likely, _ = score_table(probabilities, classes, "probabilities")
        if likely.shape != table.shape:
            raise ValueError(
                f"prediction_sets has the shape {table.shape} but probabilities {likely.shape}: "
                "both need the same rows and labels."
            )
        table = table.copy()
        table[empty, likely[empty].argmax(axis=1)] = 1
    return _sets_of_mask(table, classes)


def candidates_from_similarity(
    embeddings: Any,
    label_embeddings: Any,
    *,
    classes: Collection[object] | None = None,
    mass: float = 0.9,
    temperature: float = 0.05,
) -> CandidateSets:
    r"""Candidate sets of the labels whose names are most similar to a row: a start without labels.

    Rows and names of labels are vectors of one space, such as sentences and names by one text
    model, or pictures and names by a network for both (CLIP). With the cosine similarity
    :math:`c_{ij}` of row *i* and label *j*, the weights of the candidates are

    .. math:: p_{ij} = \frac{\exp(c_{ij} / \tau)}{\sum_k \exp(c_{ik} / \tau)}

    and a set is the smallest one whose weights add up to at least ``mass``. Ties keep the order of
    ``classes``.

    Parameters
    ----------
    embeddings : array-like of shape (n_rows, n_features)
        Vectors of the rows.
    label_embeddings : array-like of shape (n_labels, n_features)
        Vectors of the names of the labels.
    classes : array-like of shape (n_labels,), optional
        The labels, in the order of their vectors; by default ``0 … n_labels - 1``.
    mass : float, default=0.9
        Weight of a set, above 0 and at most 1. With 1, every label is a candidate.
    temperature : float, default=0.05
        The number :math:`\tau`: the smaller, the smaller the sets. Sentence models are trained with
        about 0.05, CLIP with 0.01.

    Returns
    -------
    CandidateSets
        Sets with weights.

    Examples
    --------
    >>> from ambilearn.bridges import candidates_from_similarity
    >>> names = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
    >>> sets = candidates_from_similarity([[2.0, 0.1]], names, classes=["cat", "lion", "car"])
    >>> sets.to_sets()
    [{'cat'}]
    >>> candidates_from_similarity([[2.0, 0.5]], names, mass=0.99, temperature=0.2).to_sets()
    [{0, 1, 2}]
    """
    rows, _ = score_table(embeddings, None, "embeddings")
    names, _ = score_table(label_embeddings, None, "label_embeddings")
    if rows.shape[1] != names.shape[1]:
        raise ValueError(
            f"embeddings has {rows.shape[1]} columns but label_embeddings has {names.shape[1]}: "
            "both must be vectors of one model."
        )
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be above 0 and at most 1; got {mass!r}.")
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0; got {temperature!r}.")
    labels = _labels_of_columns(len(names), None, classes, "label_embeddings")
    similar = _unit_rows(rows, "embeddings") @ _unit_rows(names, "label_embeddings").T
    weights = np.maximum(softmax(similar / temperature, axis=1), np.finfo(float).tiny)
    order = np.argsort(-weights, axis=1, kind="stable")
    sorted_weights = np.take_along_axis(weights, order, axis=1)
    is_needed = np.cumsum(sorted_weights, axis=1) - sorted_weights < mass
    mask = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(mask, order, is_needed | (mass == 1), axis=1)
    return _sets_of_mask(np.where(mask, weights, 0.0), labels)


def _unit_rows(vectors: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    bad = np.flatnonzero(~((lengths > 0) & np.isfinite(lengths)))
    if len(bad):
        raise ValueError(f"Row {bad[0]} of {name} has no direction: it is zero or infinite.")
    return np.asarray(vectors / lengths)


def score_table(
    scores: Any, classes: Collection[object] | None, name: str = "scores"
) -> tuple[NDArray[np.float64], list[object]]:
    """Check a table of scores, and return it with its labels.

    ``scores``, of shape (n_rows, n_labels), has no NaN. The labels are ``classes``, or the columns
    of a data frame, or ``0 … n_labels - 1``. ``name`` is the name of the argument in messages.
    """
    scores = to_numpy(scores)
    check_structure(scores, name)
    if sparse.issparse(scores):
        scores = scores.toarray()
    columns = column_names(scores)
    try:
        table = as_numbers(scores, name)
    except ValueError as error:
        raise ValueError(
            f"{error} Pass one row per example and one column per label, as predict_proba returns "
            "it."
        ) from error
    if table.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, rows and labels, as predict_proba returns it; got "
            f"an array of shape {table.shape}."
        )
    if np.isnan(table).any():
        i, j = np.argwhere(np.isnan(table))[0].tolist()
        raise ValueError(
            f"{name} contains NaN in row {i}, column {j}. Drop such rows, or fill them in."
        )
    return table, _labels_of_columns(table.shape[1], columns, classes, name)


def _labels_of_columns(
    n_columns: int, columns: list[object] | None, classes: Collection[object] | None, name: str
) -> list[object]:
    unnamed: list[object] = list(range(n_columns))
    if classes is None:
        return unnamed if columns is None else columns
    labels: list[object] = listed_labels(to_numpy(classes), "classes").tolist()
    if len(labels) != n_columns:
        raise ValueError(
            f"{name} has {n_columns} columns but there are {len(labels)} classes: pass one class "
            "per column, in the order of the columns."
        )
    if columns not in (None, unnamed, labels):
        raise ValueError(
            f"{name} has the columns {columns} but the classes are {labels}: remove classes, "
            "or reorder the columns."
        )
    return labels


def _sets_of_mask(mask: Array, classes: list[object]) -> CandidateSets:
    """Candidate sets of a dense mask or table of weights, also if it has one column."""
    return replace(as_candidates(sparse.csr_array(mask), classes=classes), sparse_mask=False)
