"""Confidences in the labels of the rows, from the answers and the outputs of a classifier."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn.confidence.calibration import fit_temperature, scale_scores
from ambilearn.crowd.skills import Skills, Smoothing, normalize, sum_by_group
from ambilearn.crowd.votes import Votes

_LEAST = 1e-6  # probability of a label by the classifier, or of a label among all rows
_STEPS = 50  # of expectation maximization for the trust in the features
_ROUNDS = 6  # of skills and labels in the model with shared mistakes
_GRID = np.arange(10) / 10  # values of the sharing
_CONFUSION_STEPS = 30  # of expectation maximization for the confusion matrix of the classifier
_LEAST_CONFUSION = 1e-3  # added to each row of it


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
