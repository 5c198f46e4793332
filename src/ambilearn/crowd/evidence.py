"""Confidences in the labels of the rows, from the answers and the outputs of a classifier."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.rounds import warn_unless_converged
from ambilearn._utils.text import pluralize, requires_extra
from ambilearn._utils.types import Array
from ambilearn.confidence.calibration import fit_temperature, scale_scores
from ambilearn.crowd.report import AnnotatorReport, in_order_of_labels, report_annotators
from ambilearn.crowd.skills import Skills, Smoothing, normalize, sum_by_group
from ambilearn.crowd.votes import Votes, as_votes
from ambilearn.metrics.checks import check_probabilities

_LEAST = 1e-6  # probability of a label by the classifier, or of a label among all rows
_STEPS = 50  # of expectation maximization for the trust in the features
_ROUNDS = 6  # of skills and labels in the model with shared mistakes
_GRID = np.arange(10) / 10  # values of the sharing
_CONFUSION_STEPS = 30  # of expectation maximization for the confusion matrix of the classifier
_LEAST_CONFUSION = 1e-3  # added to each row of it
_FIRST_COUNT = 0.1  # added to the number of answers for each label, for the first confidences


class CombinedEvidence(NamedTuple):
    """Confidences from answers and features, the trust in the features, and the evidence."""

    confidences: NDArray[np.float64]
    feature_trust: float
    evidence: float


class PooledEvidence(NamedTuple):
    """Mean confidences of three models, with the estimated sharing and temperature."""

    confidences: NDArray[np.float64]
    sharing: float
    inverse_temperature: float


def judge_rows(
    votes: Votes,
    confidences: NDArray[np.float64],
    held_out: NDArray[np.float64],
    smoothing: Smoothing = "auto",
) -> CombinedEvidence:
    """New confidences, by the answers and a classifier; skills from the old confidences.

    Parameters
    ----------
    votes : Votes
        The answers.
    confidences : ndarray of shape (n, l)
        Of the labels of the items; rows sum to one.
    held_out : ndarray of shape (n, l)
        Outputs of a classifier that has not learned from the row; rows sum to one.
    smoothing : float or "auto", default="auto"
        As for :meth:`~ambilearn.crowd.skills.Skills.estimate`.

    Returns
    -------
    CombinedEvidence
    """
    skills = Skills.estimate(votes, confidences, smoothing=smoothing)
    return combine_evidence(skills.log_likelihood(votes), held_out, confidences.mean(axis=0))


def combine_evidence(
    log_likelihood: NDArray[np.float64],
    held_out: NDArray[np.float64],
    prior: NDArray[np.float64],
    *,
    max_iter: int = _STEPS,
) -> CombinedEvidence:
    r"""Confidences of the rows from their answers and from held-out outputs of a classifier.

    :math:`T_{ij} \propto \Lambda_{ij} ((1 - \varepsilon) F_{ij} + \varepsilon \pi_j)` with the
    :math:`\varepsilon` of the largest likelihood
    :math:`\prod_i \sum_j \Lambda_{ij} ((1 - \varepsilon) F_{ij} + \varepsilon \pi_j)`, found by
    expectation maximization.

    ``log_likelihood`` is :math:`\log \Lambda`, and ``held_out`` is *F*, both of shape (n, l);
    ``prior`` is :math:`\pi`. ``max_iter`` limits the steps for :math:`\varepsilon`.
    """
    held_out, prior = at_least(held_out), at_least(prior)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    by_features = np.einsum("ij,ij->i", likelihood, held_out)
    by_prior = likelihood @ prior
    doubt = 0.5
    for _ in range(max_iter):
        share = doubt * by_prior
        doubt = float(np.mean(share / ((1 - doubt) * by_features + share)))
    joint = likelihood * ((1 - doubt) * held_out + doubt * prior)
    total = joint.sum(axis=1, keepdims=True)
    return CombinedEvidence(joint / total, 1 - doubt, float(np.log(total).mean()))


def pool_evidence(
    votes: Votes,
    confidences: NDArray[np.float64],
    held_out: NDArray[np.float64],
    smoothing: Smoothing = "auto",
) -> PooledEvidence:
    r"""Confidences that allow for mistakes which annotators, or answers and features, share.

    The mean of three models of the rows, which cannot be compared without true labels:

    .. math:: T^*_{ij} = \frac{T_{ij} + R_{ij} + \frac12 (A_{ij} + F_{ij})}{3}, \qquad
              R_{ij} \propto \Lambda^\rho_{ij} ((1 - \varepsilon) F_{ij} + \varepsilon \pi_j),
              \qquad A_{ij} \propto \Lambda^\rho_{ij} \pi_j

    In the first, answers and classifier are independent given the label. In the second, annotators
    share mistakes (:func:`~ambilearn.crowd.evidence.shared_log_likelihood`). In the third,
    the classifier, which learned from these annotators, makes their mistakes: the answers and the
    features of a row are not combined. The skills in :math:`\Lambda^\rho` are estimated again, in
    the second model from *R* and in the third from *A*, and for each answer without its item. So
    is :math:`\varepsilon` in *R*: with :math:`\Lambda`, answers that share mistakes count as
    independent, and the weight of the features is too low.

    A row without answers is like a new row: its confidences are :math:`F^b`, scaled to the sum one,
    with the *b* at which the confidences of the other rows by features alone are right on average,
    if :math:`T^*` is (:func:`~ambilearn.confidence.fit_temperature`).

    Parameters
    ----------
    votes : Votes
        The answers.
    confidences : ndarray of shape (n, l)
        *T*, after the last round of :func:`judge_rows`.
    held_out, smoothing
        As for :func:`judge_rows`.

    Returns
    -------
    PooledEvidence
    """
    held_out, prior = at_least(held_out), at_least(confidences.mean(axis=0))
    sharing = estimate_sharing(*_answers(votes, confidences, smoothing), prior, held_out)
    together = _judge_shared(votes, confidences, sharing, held_out, prior, smoothing)
    no_features = np.broadcast_to(prior, held_out.shape)
    by_answers = _judge_shared(votes, confidences, sharing, no_features, prior, smoothing)
    pooled = (confidences + together + (by_answers + held_out) / 2) / 3
    answered, scores = votes.answers_per_item > 0, np.log(held_out)
    inverse_temperature = fit_temperature(scores[answered], pooled[answered])
    pooled[~answered] = scale_scores(scores[~answered], inverse_temperature)
    return PooledEvidence(pooled, sharing, inverse_temperature)


def _judge_shared(
    votes: Votes,
    confidences: NDArray[np.float64],
    sharing: float,
    held_out: NDArray[np.float64],
    prior: NDArray[np.float64],
    smoothing: Smoothing,
) -> NDArray[np.float64]:
    """Confidences if annotators share mistakes, in rounds of skills, trust and labels."""
    for _ in range(_ROUNDS):
        answers = _answers(votes, confidences, smoothing)
        likelihood = shared_log_likelihood(*answers, sharing)
        confidences = combine_evidence(likelihood, held_out, prior).confidences
    return confidences


def _answers(
    votes: Votes, confidences: NDArray[np.float64], smoothing: Smoothing
) -> tuple[Votes, NDArray[np.float64], NDArray[np.float64]]:
    """The answers, their probabilities without their items, and the average confusion matrix."""
    skills = Skills.estimate(votes, confidences, smoothing=smoothing)
    return votes, skills.held_out_probabilities(votes, confidences), skills.pooled


def at_least(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities without zeros, so that no answer is impossible; rows sum to one."""
    positive = np.maximum(probabilities, _LEAST)
    return positive / positive.sum(axis=-1, keepdims=True)


def shared_log_likelihood(
    votes: Votes,
    probabilities: NDArray[np.float64],
    pooled: NDArray[np.float64],
    sharing: float,
) -> NDArray[np.float64]:
    r"""Log-likelihood of the answers to each item for each label, shape (n_items, n_labels).

    An item with label *j* looks like the label :math:`z \sim \bar C_j` to all annotators. Each of
    them answers *z* with probability :math:`\rho`, and otherwise according to their own confusion
    matrix:

    .. math:: \Lambda^\rho_{ij} = \sum_z \bar C_{jz} \prod_{a \text{ answers } k \text{ to } i}
              \left(\rho\,[k = z] + (1 - \rho)\, C^a_{jk}\right)

    With :math:`\rho = 0` answers are independent, :math:`\prod_a C^a_{jk}`.

    Parameters
    ----------
    votes : Votes
        The answers.
    probabilities : ndarray of shape (n_answers, n_labels)
        :math:`C^a_{jk}` of each answer, such as
        :meth:`~ambilearn.crowd.skills.Skills.held_out_probabilities`.
    pooled : ndarray of shape (n_labels, n_labels)
        :math:`\bar C`.
    sharing : float
        :math:`\rho`, at least 0 and below 1.
    """
    n, n_labels, items = len(votes), len(votes.classes), votes.item_indices
    independent = sum_by_group(np.log((1 - sharing) * probabilities), items, n)
    # Only labels z that are among the answers to an item change the product.
    pairs, pair = np.unique(items * n_labels + votes.label_indices, return_inverse=True)
    factors = np.log1p(sharing / ((1 - sharing) * probabilities))
    log_ratios = sum_by_group(factors, pair, len(pairs))
    items, labels = np.divmod(pairs, n_labels)
    largest = np.zeros((n, n_labels))
    np.maximum.at(largest, items, log_ratios)
    seen = pooled.T[labels]
    others = np.maximum(1 - sum_by_group(seen, items, n), 0) * np.exp(-largest)
    answered = sum_by_group(seen * np.exp(log_ratios - largest[items]), items, n)
    return independent + largest + np.log(others + answered)


def estimate_sharing(
    votes: Votes,
    probabilities: NDArray[np.float64],
    pooled: NDArray[np.float64],
    prior: NDArray[np.float64],
    held_out: NDArray[np.float64],
) -> float:
    r"""The probability :math:`\rho` that an annotator shares the mistake of the others.

    The answers alone give each item the posterior :math:`A(\rho) \propto \pi \Lambda^\rho`. The
    estimate is the :math:`\rho` in 0, 0.1, …, 0.9 for which this posterior predicts the outputs *F*
    of a held-out classifier best, through a confusion matrix *M* of the classifier:

    .. math:: \max_\rho \max_M \sum_{i, m} F_{im} \log \sum_j A_{ij}(\rho) M_{jm}

    Shared mistakes make the answers of an item predict each other, so the likelihood of answers
    cannot measure them. They do not make the classifier agree with the answers.

    Parameters
    ----------
    votes, probabilities, pooled
        As for :func:`shared_log_likelihood`.
    prior : ndarray of shape (n_labels,)
        :math:`\pi`, the share of each label.
    held_out : ndarray of shape (n_items, n_labels)
        *F*: non-negative, rows sum to one.

    Returns
    -------
    sharing : float
    """
    gains = []
    for sharing in _GRID:
        logarithms = shared_log_likelihood(votes, probabilities, pooled, sharing)
        gains.append(_predictability(normalize(logarithms, prior), held_out))
    return float(_GRID[np.argmax(gains)])


def _predictability(posterior: NDArray[np.float64], held_out: NDArray[np.float64]) -> float:
    """Log-likelihood of the classifier's outputs, with the best confusion matrix."""
    n_labels = posterior.shape[1]
    confusion = (np.full((n_labels, n_labels), 1 / n_labels) + np.eye(n_labels)) / 2
    for _ in range(_CONFUSION_STEPS):
        confusion *= posterior.T @ (held_out / (posterior @ confusion))
        confusion += _LEAST_CONFUSION / n_labels
        confusion /= confusion.sum(axis=1, keepdims=True)
    return float((held_out * np.log(posterior @ confusion)).sum())


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
    ordered = in_order_of_labels(pred_probs, votes.classes, "pred_probs")
    held_out = check_probabilities(ordered, "pred_probs")
    if held_out.shape != (expected := (len(votes), len(votes.classes))):
        raise ValueError(
            f"pred_probs must have the shape {expected}, a row for each item and a column for each "
            f"label of the votes; got {held_out.shape}. If the model has more labels than the "
            "answers, pass all labels as classes= when you make the votes."
        )
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
