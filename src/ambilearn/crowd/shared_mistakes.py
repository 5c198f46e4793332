"""Mistakes that annotators share: the likelihood of answers that are not independent."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ambilearn.crowd.skills import sum_by_group
from ambilearn.crowd.votes import Votes

_GRID = np.arange(10) / 10
_STEPS = 30  # of expectation maximization for the confusion matrix of the classifier
_LEAST_CONFUSION = 1e-3  # added to each row of it


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
    for _ in range(_STEPS):
        confusion *= posterior.T @ (held_out / (posterior @ confusion))
        confusion += _LEAST_CONFUSION / n_labels
        confusion /= confusion.sum(axis=1, keepdims=True)
    return float((held_out * np.log(posterior @ confusion)).sum())


def normalize(
    log_likelihood: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Posterior :math:`\propto \Lambda \pi`; ``prior`` has one row, or a row for each item."""
    with np.errstate(divide="ignore"):  # zeros stay zeros
        posterior: NDArray[np.float64] = softmax(log_likelihood + np.log(prior), axis=1)
    return posterior
