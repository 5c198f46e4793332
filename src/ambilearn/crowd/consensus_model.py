"""Labels and skills from answers and the outputs of any model, without a fit."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.optional import requires_extra
from ambilearn._utils.rounds import warn_unless_converged
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array
from ambilearn.crowd.evidence import judge_rows, pool_evidence
from ambilearn.crowd.report import AnnotatorReport, in_order_of_labels, report_annotators
from ambilearn.crowd.skills import Skills, Smoothing
from ambilearn.crowd.votes import Votes, as_votes
from ambilearn.metrics.checks import check_probabilities

_FIRST_COUNT = 0.1  # added to the number of answers for each label, for the first confidences


@dataclass(frozen=True, eq=False, repr=False)
class Consensus:
    r"""Labels of the items, their confidences, and the skills of the annotators.

    Attributes
    ----------
    labels : ndarray of shape (n_items,)
        Most likely label of each item.
    confidences : ndarray of shape (n_items,)
        Probability that this label is right.
    label_distributions : ndarray of shape (n_items, n_labels)
        Probability of every label, in the order of ``votes.classes``.
    annotators : AnnotatorReport
        Answers, agreement with the result, and confusions of each annotator.
    skills : Skills
        The confusion matrices.
    sharing : float
        Probability :math:`\rho` that an annotator makes the mistake that others make in the same
        item.
    feature_trust : float
        Weight of ``pred_probs``, :math:`1 - \varepsilon`.
    votes : Votes
        The answers.
    """

    labels: Array
    confidences: NDArray[np.float64]
    label_distributions: NDArray[np.float64]
    annotators: AnnotatorReport
    skills: Skills
    sharing: float
    feature_trust: float
    votes: Votes

    def __repr__(self) -> str:
        return (
            f"<Consensus: {pluralize(len(self.labels), 'item')}, "
            f"{pluralize(len(self.votes.annotators), 'annotator')}, "
            f"mean confidence {self.confidences.mean():.0%}>"
        )

    def to_frame(self) -> Any:
        """Data frame with the columns item, label, confidence, answers and agreement.

        ``answers`` is the number of answers to the item, ``agreement`` the share of them that is
        the label.
        """
        with requires_extra("data", purpose="A table of labels"):
            import pandas as pd
        counts = self.votes.counts().toarray()
        best = self.label_distributions.argmax(axis=1)
        answers = self.votes.answers_per_item
        with np.errstate(invalid="ignore"):  # NaN without answers
            agreement = counts[np.arange(len(best)), best] / answers
        return pd.DataFrame(
            {
                "item": self.votes.items,
                "label": self.labels,
                "confidence": self.confidences,
                "answers": answers,
                "agreement": agreement,
            }
        )


def consensus(
    votes: Any,
    pred_probs: Any,
    *,
    smoothing: Smoothing = "auto",
    max_iter: int = 30,
    tol: float = 1e-3,
) -> Consensus:
    r"""Labels, confidences and skills from answers and held-out probabilities of any model.

    The same estimate as in :class:`CrowdClassifier`, for fixed outputs *F* of a classifier: skills
    and labels are estimated in turn, starting from the shares of the answers, and the confidences
    are those of :func:`~ambilearn.crowd.evidence.pool_evidence`. They allow for mistakes that
    annotators share. No true label is used, and only the skills are fitted.

    Parameters
    ----------
    votes : Votes, or table of shape (n_items, n_annotators)
        The answers; a table is read by :meth:`Votes.from_wide`.
    pred_probs : array-like or data frame of shape (n_items, n_labels)
        Probability of each label, in the order of ``votes.classes``, by a model that has not
        learned from the item, such as ``cross_val_predict(model, X, y, method="predict_proba")``
        with majority labels as *y*. Rows sum to one. The columns of a data frame are the labels,
        in any order.
    smoothing : float or "auto", default="auto"
        As for :class:`CrowdClassifier`.
    max_iter : int, default=30
        Limit of rounds of skills and labels.
    tol : float, default=1e-3
        The rounds end when the confidences change by at most this,
        :math:`\|T_t - T_{t-1}\|_F / \sqrt n`.

    Returns
    -------
    Consensus

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` ends the rounds, unless ``tol=0``.

    See Also
    --------
    CrowdClassifier : Also fits the classifier, to the labels found so far.

    Examples
    --------
    >>> from ambilearn.crowd import Votes, consensus
    >>> table = [["a", "a", "b"], ["b", "b", "a"], ["a", "b", "b"], ["a", "a", "a"]]
    >>> votes = Votes.from_wide(table, annotators=["ann", "ben", "cat"])
    >>> found = consensus(votes, [[0.8, 0.2], [0.3, 0.7], [0.9, 0.1], [0.7, 0.3]])
    >>> found.labels.tolist()
    ['a', 'b', 'a', 'a']
    >>> found.annotators.agreement.tolist()
    [1.0, 0.75, 0.25]
    """
    votes = as_votes(votes)
    if smoothing != "auto" and not (isinstance(smoothing, Real) and 0 < smoothing < np.inf):
        raise ValueError(f'smoothing must be "auto" or a number above 0; got {smoothing!r}.')
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1; got {max_iter}.")
    held_out = _check_probabilities(pred_probs, votes)
    first = votes.counts().toarray() + _FIRST_COUNT
    confidences: NDArray[np.float64] = first / first.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        found = judge_rows(votes, confidences, held_out, smoothing)
        change = float(np.linalg.norm(found.confidences - confidences)) / len(votes) ** 0.5
        confidences = found.confidences
        if change <= tol:
            break
    warn_unless_converged("consensus", change, tol, max_iter)
    pooled = pool_evidence(votes, confidences, held_out, smoothing)
    best = pooled.confidences.argmax(axis=1)
    return Consensus(
        votes.classes[best],
        pooled.confidences.max(axis=1),
        pooled.confidences,
        report_annotators(votes, pooled.confidences),
        Skills.estimate(votes, pooled.confidences, smoothing=smoothing),
        pooled.sharing,
        found.feature_trust,
        votes,
    )


def _check_probabilities(pred_probs: Any, votes: Votes) -> NDArray[np.float64]:
    """The probabilities as an array, checked against the votes."""
    ordered = in_order_of_labels(pred_probs, votes.classes, "pred_probs")
    held_out = check_probabilities(ordered, "pred_probs")
    expected = len(votes), len(votes.classes)
    if held_out.shape != expected:
        raise ValueError(
            f"pred_probs must have the shape {expected}, a row for each item and a column for each "
            f"label of the votes; got {held_out.shape}. If the model has more labels than the "
            "answers, pass all labels as classes= when you make the votes."
        )
    return held_out
