"""Chosen labels, how sure they are, and which rows to look at first."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn.candidates import CandidateSets


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
    >>> from ambilearn.own_data.ranking import choose_candidates
    >>> sets = as_candidates([{"anna", "bob"}, {"bob"}, {"anna", "cleo"}])
    >>> choices = choose_candidates(sets, np.array([0.5, 0.5, 1.0, 0.1, 0.9]))
    >>> choices.labels.tolist(), choices.order.tolist()
    (['anna', 'bob', 'cleo'], [0, 2, 1])
    """
    # By row, and within a row by falling confidence; among equals the first label.
    ranked = np.lexsort((-confidences, candidates.rows))
    first = ranked[candidates.indptr[:-1]]
    # Every row but the last has a pair after its first; where it is another row's, nobody looks.
    after = ranked[np.minimum(candidates.indptr[:-1] + 1, len(ranked) - 1)]
    best = confidences[first]
    margins = np.where(candidates.sizes > 1, best - confidences[after], 1.0)
    return Choices(candidates.classes[candidates.labels[first]], best, margins)


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
