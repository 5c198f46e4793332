"""Chosen labels, how sure they are, and which rows to look at first."""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn.candidates import CandidateSets
from ambilearn.candidates.sets import pair_rows
from ambilearn.doubt import Doubt


class Choices(NamedTuple):
    """One label for each row.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        The label of largest confidence.
    confidences : ndarray of shape (n_rows,)
        Its confidence.
    margins : ndarray of shape (n_rows,)
        Its confidence minus that of the second-best label; 1 where there is no second.
    """

    labels: NDArray[Any]
    confidences: NDArray[np.float64]
    margins: NDArray[np.float64]

    @property
    def order(self) -> NDArray[np.intp]:
        """Rows by ambiguity: smallest margin first, then smallest confidence, then as they come."""
        return np.lexsort((self.confidences, self.margins))


def choose_candidates(candidates: CandidateSets, confidences: NDArray[np.float64]) -> Choices:
    """The most likely candidate of each row.

    Parameters
    ----------
    candidates : CandidateSets
        Candidate sets.
    confidences : ndarray of shape (n_pairs,)
        Confidence of every candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.candidates import as_candidates
    >>> from ambilearn.tables.ranking import choose_candidates
    >>> sets = as_candidates([{"anna", "bob"}, {"bob"}, {"anna", "cleo"}])
    >>> choices = choose_candidates(sets, np.array([0.5, 0.5, 1.0, 0.1, 0.9]))
    >>> choices.labels.tolist(), choices.order.tolist()
    (['anna', 'bob', 'cleo'], [0, 2, 1])
    """
    # By row, and within a row by falling confidence; among equals the first label.
    ranked = np.lexsort((-confidences, pair_rows(candidates)))
    first = ranked[candidates.indptr[:-1]]
    # Every row but the last has a pair after its first; where it is another row's, nobody looks.
    after = ranked[np.minimum(candidates.indptr[:-1] + 1, len(ranked) - 1)]
    best = confidences[first]
    margins = np.where(candidates.sizes > 1, best - confidences[after], 1.0)
    return Choices(candidates.classes[candidates.labels[first]], best, margins)


def review_order(
    choices: Choices, doubt: Doubt | None = None, settled: Collection[int] = ()
) -> NDArray[np.intp]:
    """Rows in the order in which a person should look at them.

    A label may be wrong in two ways: another candidate is the right one, which a small margin
    tells, or none is, which doubt above zero tells. The two orders take turns: the most doubtful
    row, the closest call, the second of each, and so on, each row once. When no doubtful row is
    left the margin alone decides. A row with one candidate, which is no close call, comes by its
    doubt.

    Parameters
    ----------
    choices : Choices
        Label, confidence and margin of each row.
    doubt : Doubt, optional
        Held-out doubt in the candidates. Without it the margin alone decides.
    settled : collection of int, default=()
        Rows whose label a person has chosen already: they come last.

    Returns
    -------
    order : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.doubt import Doubt
    >>> from ambilearn.tables.ranking import Choices, review_order
    >>> choices = Choices(np.array(["a", "b", "c", "d"]), np.ones(4), np.array([0.1, 0.2, 1, 1]))
    >>> doubt = Doubt(np.array([-0.5, -0.9, -0.3, 0.4]), np.array(["b", "c", "d", "a"]))
    >>> review_order(choices, doubt).tolist()
    [3, 0, 1, 2]
    """
    order = choices.order
    if doubt is not None:
        doubtful = doubt.order[: np.count_nonzero(doubt.score > 0)]
        by_turns = np.column_stack([doubtful, order[: len(doubtful)]]).ravel()
        places = np.concatenate([by_turns, order])
        _, first = np.unique(places, return_index=True)
        order = places[np.sort(first)]
    last = np.isin(order, np.fromiter(settled, dtype=np.intp))
    return np.concatenate([order[~last], order[last]])


def choose_labels(classes: NDArray[Any], confidences: NDArray[np.float64]) -> Choices:
    """The most likely label of each row, among all labels.

    Parameters
    ----------
    classes : ndarray of shape (n_labels,)
        The labels.
    confidences : ndarray of shape (n_rows, n_labels)
        Confidence of every label: ``predict_proba``.
    """
    best = confidences.argmax(axis=1)
    top = confidences[np.arange(len(best)), best]
    if len(classes) == 1:
        return Choices(classes[best], top, np.ones(len(best)))
    second = np.partition(confidences, -2, axis=1)[:, -2]
    return Choices(classes[best], top, top - second)
