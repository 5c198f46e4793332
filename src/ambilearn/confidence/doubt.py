"""Results of the search for wrong labels."""

from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ambilearn._utils.text import html_table, pluralize, requires_extra
from ambilearn._utils.types import Array, DataFrame
from ambilearn.candidates import CandidateSets
from ambilearn.candidates.sets import pair_rows
from ambilearn.metrics.checks import find_positions

# The order of rows: weights of the log odds of a score and of its held-out probability, by the
# method itself or by a member of it, and the factor of the odds of the doubt.
_SCORE_WEIGHT, _OWN_WEIGHT, _MEMBER_WEIGHT = 2.0, 0.5, 0.1
_DOUBT_ODDS = 3.0
_SMALLEST = 1e-6  # smaller probabilities, and zero, count as this
FLAGGED = 0.5  # probability of a wrong label above which a person is asked to check the row


@dataclass(frozen=True, eq=False, repr=False)
class Doubt:
    """Probability of each row that its true label is not a candidate.

    Attributes
    ----------
    score : ndarray of shape (n_rows,)
        The probability; 0 where every label is a candidate.
    other : ndarray of shape (n_rows,)
        The most likely label that is not a candidate; None where every label is a candidate.
    within : csr_array of shape (n_rows, n_labels) or None
        Probability of each candidate if the true label is one, by the held-out outputs; None if
        they are unknown.
    score_after : callable or None
        Function that returns the scores after a change of the outputs of ``other``, less that of
        the best candidate; None if they do not depend on outputs.
    classes : ndarray of shape (n_labels,) or None
        The labels of the columns of ``within``.
    of_member : bool
        Whether the outputs are those of a member of an ensemble.
    of_all_labels : bool
        Whether scores of chosen labels are their probabilities among all labels, so that
        :meth:`wrong` is one minus them.
    """

    score: NDArray[np.float64]
    other: Array
    within: Any = None
    score_after: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    classes: Array | None = None
    of_member: bool = False
    of_all_labels: bool = False

    @classmethod
    def in_answers(
        cls, posterior: NDArray[np.float64], classes: Array, answers: CandidateSets
    ) -> "Doubt":
        """Doubt in the answers of annotators, from the probabilities of all labels.

        The score is the probability that neither an answer nor the label of the row is correct.
        ``posterior`` has the shape (n, l), and ``answers`` are the answers as candidate sets.
        """
        columns = find_positions(answers.classes, classes)[answers.labels]
        rows, outside = pair_rows(answers), posterior.copy()
        outside[rows[columns >= 0], columns[columns >= 0]] = 0.0
        outside[np.arange(len(posterior)), posterior.argmax(axis=1)] = 0.0
        other = classes.astype(object)[outside.argmax(axis=1)]
        other[~outside.any(axis=1)] = None
        return Doubt(np.minimum(outside.sum(axis=1), 1.0), other, of_all_labels=True)

    @property
    def suggestion(self) -> Array:
        """The most likely other label where the score is above one half; None in other rows."""
        suggestion: Array = self.other.astype(object)
        suggestion[~self.doubtful] = None
        return suggestion

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """Rows to check: those with a score above one half."""
        return self.score > FLAGGED

    @property
    def order(self) -> NDArray[np.intp]:
        """Rows by doubt, the most doubtful first."""
        return np.argsort(-self.score, kind="stable")

    def _repr_html_(self) -> str:
        """The rows to check first, for a notebook."""
        frame = self.to_frame().iloc[self.order]
        title = f"{type(self).__name__}: {int(self.doubtful.sum()):,} of {len(frame):,} doubtful"
        return html_table(title, ["row", *frame], frame.itertuples(name=None))

    def to_frame(self) -> DataFrame:
        """Table with one row for each row of X, in the same order.

        Returns
        -------
        table : pandas.DataFrame
            With the columns ``score`` and ``suggestion``, for ordinary labels also ``label``,
            ``change`` and ``confidence``, and the row numbers as index ``row``.
        """
        with requires_extra("data", purpose="A table of doubt"):
            import pandas as pd
        rows = pd.RangeIndex(len(self.score), name="row")
        return pd.DataFrame(self._columns(), index=rows)

    def _columns(self) -> dict[str, Array]:
        return {"score": self.score, "suggestion": self.suggestion}

    def __repr__(self) -> str:
        n_doubtful = np.count_nonzero(self.doubtful)
        rows = pluralize(len(self.score), "row")
        return f"<Doubt: {rows}, {n_doubtful} with a score above {FLAGGED}>"

    def wrong(self, labels: Array, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Probability that a label, chosen among the candidates, is wrong: the order of review.

        With the doubt :math:`d_i`, the score :math:`p_i` of the label among the candidates and its
        held-out probability :math:`f_i` among them,

        .. math:: 1 - (1 - d'_i)\, \sigma(2 \operatorname{logit} p_i + w \operatorname{logit} f_i),
                  \qquad \operatorname{logit} d'_i = \operatorname{logit} d_i + \log 3

        where *w* is .5 for outputs of the method itself, .1 for those of a member of a stack or a
        vote, and 0 without ``within``. Scores of a fit are too low, and so is the doubt, because
        the classifier has learned from sets without their true label.

        Parameters
        ----------
        labels : ndarray of shape (n_rows,)
            The label of each row.
        scores : ndarray of shape (n_rows,)
            Its score by the method, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if self.of_all_labels:
            return 1 - scores
        log_odds = _SCORE_WEIGHT * _clipped_logit(scores)
        if self.within is not None and self.classes is not None:
            columns = find_positions(labels, self.classes)
            known = np.flatnonzero(columns >= 0)
            if len(known):
                held_out = np.asarray(self.within[known, columns[known]]).ravel()
                weight = _MEMBER_WEIGHT if self.of_member else _OWN_WEIGHT
                log_odds[known] += weight * _clipped_logit(held_out)
        doubt = _DOUBT_ODDS * self.score / (1 + (_DOUBT_ODDS - 1) * self.score)
        return 1 - (1 - doubt) * expit(log_odds)

    def in_sets(self) -> "Doubt":
        """The doubt for labels that are chosen among the candidates."""
        return self

    def shifted(self, change: NDArray[np.float64]) -> "Doubt":
        """Doubt after a change of the outputs of ``other``, less that of the best candidate."""
        if self.score_after is None:
            return self
        return replace(self, score=np.where(self.score > 0, self.score_after(change), 0.0))

    def settled(self, rows: Collection[int]) -> Self:
        """Doubt in which the labels of some rows, which a person has chosen, are certain."""
        score = self.score.copy()
        score[list(rows)] = 0.0
        return replace(self, score=score)


def has_ordinary_labels(sets: CandidateSets) -> bool:
    """Whether each row has one label. A sparse mask is for labels too many for a dense matrix."""
    return bool((sets.sizes == 1).all()) and not sets.sparse_mask


def _clipped_logit(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    return logit(np.clip(probability, _SMALLEST, 1 - _SMALLEST))


@dataclass(frozen=True, eq=False, repr=False)
class LabelDoubt(Doubt):
    r"""Which of the given labels are probably wrong, and the corrected labels.

    If the features do not predict the given labels better than chance, no label is changed, all
    scores are zero, and the probabilities are NaN.

    Attributes
    ----------
    score : ndarray of shape (n_rows,)
        Probability that the given label is wrong, from the features and the given label.
    other : ndarray of shape (n_rows,)
        The most likely other label; None if there is only one label, or the features do not predict
        the labels.
    label : ndarray of shape (n_rows,)
        The corrected label: the suggestion where ``change`` is True, else the given label.
    change : ndarray of shape (n_rows,)
        Whether to change the given label: True where the suggestion is three times as likely. A
        label that is given only once stays, since no held-out classifier can learn it.
    confidence : ndarray of shape (n_rows,)
        Probability of ``label``.
    probabilities : ndarray of shape (n_rows, n_labels)
        Probability of every label, from the features and the given label.
    classes : ndarray of shape (n_labels,)
        The labels, in the order of the columns of ``probabilities``.
    noise_matrix : ndarray of shape (n_labels, n_labels)
        Estimated probability that a row with the true label *j* (row) was given the label *k*
        (column).
    """

    _: KW_ONLY
    label: Array
    change: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    noise_matrix: NDArray[np.float64]
    of_all_labels: bool = True

    def in_sets(self) -> Doubt:
        """The doubt if the given label is the only candidate, and is not changed."""
        return Doubt(self.score, self.other)

    def settled(self, rows: Collection[int]) -> Self:
        """Doubt in which the labels of some rows, which a person has chosen, are certain."""
        rows = list(rows)
        confidence, change = self.confidence.copy(), self.change.copy()
        confidence[rows], change[rows] = 1.0, False
        return replace(super().settled(rows), confidence=confidence, change=change)

    def _columns(self) -> dict[str, Array]:
        own = {"label": self.label, "change": self.change, "confidence": self.confidence}
        return super()._columns() | own

    def __repr__(self) -> str:
        n_changed = int(np.count_nonzero(self.change))
        rows = pluralize(len(self.score), "row")
        return f"<LabelDoubt: {rows}, {pluralize(n_changed, 'label')} to change>"
