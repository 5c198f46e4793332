"""Chosen labels, their scores, and which rows to look at first."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.types import Array
from ambilearn.candidates import CandidateSets
from ambilearn.candidates.sets import pair_rows
from ambilearn.confidence.doubt import Doubt


class Choices(NamedTuple):
    """One label for each row.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        The label with the largest score.
    scores : ndarray of shape (n_rows,)
        Its score, between 0 and 1: what the method learned or predicted.
    confidences : ndarray of shape (n_rows,)
        Calibrated probability that the label is correct; NaN if scores are not calibrated.
    margins : ndarray of shape (n_rows,)
        Its score minus that of the second-best label; 1 where there is no second.
    """

    labels: Array
    scores: NDArray[np.float64]
    confidences: NDArray[np.float64]
    margins: NDArray[np.float64]

    def columns(self, prefix: str = "") -> dict[str, Array]:
        """Columns of a table for labels, scores and confidences, numbers to six digits."""
        return {
            f"{prefix}label": self.labels,
            f"{prefix}score": self.scores.round(6),
            f"{prefix}confidence": self.confidences.round(6),
        }


def choose_candidates(
    candidates: CandidateSets,
    scores: NDArray[np.float64],
    confidences: NDArray[np.float64] | None = None,
    judged: NDArray[np.float64] | None = None,
) -> Choices:
    """The candidate with the largest score of each row.

    ``scores`` and ``confidences`` have an entry for every candidate. ``judged``, of shape (n_rows,
    n_labels), are scores of every label by judged annotators; the margin of a single candidate is
    then over the second-best label, which is too unlikely to be a candidate.

    >>> import numpy as np
    >>> from ambilearn.candidates import as_candidates
    >>> sets = as_candidates([{"anna", "bob"}, {"bob"}, {"anna", "cleo"}])
    >>> choices = choose_candidates(sets, np.array([0.5, 0.5, 1.0, 0.1, 0.9]))
    >>> choices.labels.tolist(), choices.margins.tolist()
    (['anna', 'bob', 'cleo'], [0.0, 1.0, 0.8])
    """
    # By row, and within a row by descending score; ties keep the order of the labels.
    ranked = np.lexsort((-scores, pair_rows(candidates)))
    first = ranked[candidates.indptr[:-1]]
    # The pair after the first one; if a row has no second pair, it is not used.
    after = ranked[np.minimum(candidates.indptr[:-1] + 1, len(ranked) - 1)]
    best = scores[first]
    alone = np.ones(len(best))
    if judged is not None and judged.shape[1] > 1:
        alone = np.where(best < 1, best - np.partition(judged, -2, axis=1)[:, -2], 1.0)
    margins = np.where(candidates.sizes > 1, best - scores[after], alone)
    labels = candidates.classes[candidates.labels[first]]
    known = np.full(len(first), np.nan) if confidences is None else confidences[first]
    return Choices(labels, best, known, margins)


def review_order(
    choices: Choices, doubt: Doubt | None = None, settled: Collection[int] = ()
) -> NDArray[np.intp]:
    """Rows in the order in which a person should look at them.

    They are sorted by the probability that their label is wrong
    (:meth:`ambilearn.confidence.Doubt.wrong`), because another candidate is correct or none is.
    Ties, and all rows without ``doubt``, are in the order of their margin. Rows in ``settled``,
    whose label a person has chosen already, are last.

    >>> from ambilearn.confidence import Doubt
    >>> scores, margins = np.array([0.6, 0.8, 1, 1]), np.array([0.2, 0.6, 1, 1])
    >>> choices = Choices(np.array([*"abcd"]), scores, scores, margins)
    >>> doubt = Doubt(np.array([0.1, 0.0, 0.01, 0.9]), np.array(["b", "c", "d", "a"]))
    >>> review_order(choices, doubt).tolist()
    [3, 0, 1, 2]
    """
    # Smallest margin first, then smallest score, then the order of the table.
    order = np.lexsort((choices.scores, choices.margins))
    if doubt is not None:
        wrong = doubt.wrong(choices.labels, choices.scores)
        order = order[np.argsort(-wrong[order], kind="stable")]
    last = np.isin(order, np.fromiter(settled, dtype=np.intp))
    return np.concatenate([order[~last], order[last]])


def choose_labels(
    classes: Array,
    scores: NDArray[np.float64],
    confidences: NDArray[np.float64] | None = None,
) -> Choices:
    """The label with the largest score (``predict_proba``) of each row, among all labels."""
    best = scores.argmax(axis=1)
    at = np.arange(len(best)), best
    margins = np.ones(len(best))
    if len(classes) > 1:
        margins = scores[at] - np.partition(scores, -2, axis=1)[:, -2]
    known = np.full(len(best), np.nan) if confidences is None else confidences[at]
    return Choices(classes[best], scores[at], known, margins)
