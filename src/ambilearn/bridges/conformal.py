"""Conformal prediction sets as candidate sets."""

from collections.abc import Collection
from math import ceil
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambilearn._utils.label_array import label_array
from ambilearn._utils.text import pluralize
from ambilearn._utils.warnings import warn_user
from ambilearn.bridges.score_table import check_probabilities, score_table, sets_of_mask
from ambilearn.candidates import CandidateSets


def candidates_from_conformal(
    probabilities: Any,
    calibration_probabilities: Any,
    calibration_labels: ArrayLike,
    *,
    alpha: float = 0.1,
    conformity_score: str = "lac",
    classes: Collection[Any] | None = None,
) -> CandidateSets:
    r"""Candidate sets that contain the true label with a given probability.

    Split conformal prediction [1]_ computes a score :math:`s(x, j)`, which is large if label *j* is
    unlikely, for *m* calibration rows and their true labels. If :math:`\hat q` is the
    :math:`\lceil (m + 1)(1 - \alpha) \rceil`-th smallest of these *m* scores,

    .. math:: S_i = \{ j : s(x_i, j) \le \hat q \}

    contains the true label of a new row with probability at least :math:`1 - \alpha` for every
    classifier, if calibration rows and new rows are exchangeable. The scores use the probability
    :math:`p_j` that the classifier gives to label *j*:

    - ``"lac"`` [2]_: :math:`s(x, j) = 1 - p_j(x)`, the smallest sets on average;
    - ``"aps"`` [3]_: :math:`s(x, j) = \sum_{k : p_k \ge p_j} p_k(x)`, sets that adapt to the
      difficulty of a row. The score is not randomized, so that the result is the same in every run
      and the coverage is at least :math:`1 - \alpha`; ties keep the order of ``classes``. MAPIE's
      sets differ: it subtracts a random part of :math:`p_j` from the scores of the calibration
      rows, and adds the label with which a set exceeds :math:`\hat q`.

    A row with an empty set gets its most likely label, which can only increase the coverage.

    Parameters
    ----------
    probabilities : array-like or data frame of shape (n_rows, n_labels)
        Output of ``predict_proba`` for the rows that need candidates.
    calibration_probabilities : array-like or data frame of shape (m, n_labels)
        Output of ``predict_proba`` for rows with known labels that were not used for training.
    calibration_labels : array-like of shape (m,)
        The true labels of the calibration rows.
    alpha : float, default=0.1
        Share of rows whose set may miss the true label, between 0 and 1.
    conformity_score : {"lac", "aps"}, default="lac"
        Score of a label, large if it is unlikely.
    classes : array-like of shape (n_labels,), optional
        The labels, in the order of the columns: ``classes_`` of the classifier. By default the
        columns of a data frame, or ``0 … n_labels - 1``.

    Returns
    -------
    CandidateSets

    Warns
    -----
    UserWarning
        If there are fewer than :math:`1 / \alpha - 1` calibration rows: :math:`\hat q` is then
        infinite, and every label is a candidate.

    See Also
    --------
    candidates_from_prediction_sets : Candidate sets from prediction sets of another package.

    References
    ----------
    .. [1] V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", Springer,
       2005.
    .. [2] M. Sadinle, J. Lei, L. Wasserman, "Least ambiguous set-valued classifiers with bounded
       error levels", Journal of the American Statistical Association 114, 2019.
    .. [3] Y. Romano, M. Sesia, E. Candès, "Classification with valid and adaptive coverage",
       NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ambilearn.bridges import candidates_from_conformal
    >>> X, y = load_iris(return_X_y=True)
    >>> X, X_calibration, y, y_calibration = train_test_split(X, y, random_state=0)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:30], y[:30])
    >>> sets = candidates_from_conformal(
    ...     tree.predict_proba(X[30:]), tree.predict_proba(X_calibration), y_calibration, alpha=0.05
    ... )
    >>> bool(sets.covers(y[30:]).mean() >= 0.95)
    True
    """
    if conformity_score not in _SCORES:
        raise ValueError(f"conformity_score must be 'lac' or 'aps', got {conformity_score!r}.")
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise ValueError(
            f"alpha must be a number between 0 and 1, got {alpha!r}: the share of rows whose set "
            "may miss the true label, 0.1 for a coverage of 90 %."
        )
    new, classes = _probabilities(probabilities, classes, "probabilities")
    known, classes = _probabilities(calibration_probabilities, classes, "calibration_probabilities")
    columns = _columns_of(calibration_labels, classes, len(known))
    score = _SCORES[conformity_score]
    quantile = _conformal_quantile(score(known)[np.arange(len(known)), columns], alpha)
    return candidates_from_prediction_sets(score(new) <= quantile, new, classes=classes)


def candidates_from_prediction_sets(
    prediction_sets: Any, probabilities: Any = None, *, classes: Collection[Any] | None = None
) -> CandidateSets:
    """Candidate sets from existing prediction sets, such as those of MAPIE.

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
        prediction_sets = _one_level(np.asarray(prediction_sets))
    table, classes = score_table(prediction_sets, classes, "prediction_sets")
    _check_membership(table)
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
    return sets_of_mask(table, classes)


def _check_membership(table: NDArray[np.float64]) -> None:
    wrong = np.argwhere((table != 0) & (table != 1))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise ValueError(
            f"prediction_sets is not 0/1: row {i}, column {j} has the value {table[i, j]:g}. Pass "
            "True or 1 where a label is in the row's set, False or 0 elsewhere; candidates from "
            "probabilities are made by candidates_from_conformal."
        )


def _one_level(sets: NDArray[Any]) -> NDArray[Any]:
    if sets.shape[2] != 1:
        raise ValueError(
            f"prediction_sets has {sets.shape[2]} confidence levels, shape {sets.shape}: choose "
            "one, for instance prediction_sets[:, :, 0]."
        )
    return sets[:, :, 0]


def _probabilities(
    table: Any, classes: Collection[Any] | None, name: str
) -> tuple[NDArray[np.float64], list[Any]]:
    scores, labels = score_table(table, classes, name)
    check_probabilities(scores, name)
    return scores, labels


def _columns_of(labels: ArrayLike, classes: list[Any], n_rows: int) -> NDArray[np.intp]:
    """Column of each calibration label."""
    array = label_array(labels) if isinstance(labels, (list, tuple)) else np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"calibration_labels must have the shape (n_rows,); got shape {array.shape}."
        )
    true = array.tolist()
    if len(true) != n_rows or not n_rows:
        raise ValueError(
            f"calibration_probabilities has {n_rows} rows but there are {len(true)} "
            "calibration_labels: both need the same rows, at least one."
        )
    position = {label: j for j, label in enumerate(classes)}
    for i, label in enumerate(true):
        if label not in position:
            raise ValueError(
                f"The calibration label {label!r} of row {i} is not among the classes: pass "
                "classes=, the classes_ of the classifier."
            )
    return np.array([position[label] for label in true], dtype=np.intp)


def _conformal_quantile(scores: NDArray[np.float64], alpha: float) -> float:
    """Upper bound of the score of a new row, with probability at least 1 - alpha."""
    m = len(scores)
    rank = ceil((m + 1) * (1 - alpha) - 1e-9)  # 10 · (1 - 0.7) is 3, not 3.0000000000000004
    if rank > m:
        warn_user(
            f"alpha={alpha:g} needs at least {ceil(1 / alpha - 1e-9) - 1} calibration rows, not "
            f"{m}: every label becomes a candidate. Use more rows, or a larger alpha."
        )
        return np.inf
    return float(np.partition(scores, rank - 1)[rank - 1])


def _improbability(table: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 - table


def _minus_probability_of_less_likely(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """APS score minus one, summed from the least likely label.

    Summed from the most likely label, most scores of an overconfident classifier round to 1.
    """
    ascending = np.argsort(-table, axis=1, kind="stable")[:, ::-1]
    below = np.cumsum(np.take_along_axis(table, ascending, axis=1)[:, :-1], axis=1)
    scores = np.zeros_like(table)
    np.put_along_axis(scores, ascending[:, 1:], -below, axis=1)
    return scores


_SCORES = {"lac": _improbability, "aps": _minus_probability_of_less_likely}
