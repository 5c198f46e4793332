"""How many items have a label that nobody gave."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ambilearn.crowd.skills import Skills
from ambilearn.crowd.votes import Votes


def estimate_unvoted_share(votes: Votes, *, max_iter: int = 100, tol: float = 1e-4) -> float:
    r"""Estimate the share of the items whose label is in none of their answers.

    By Dawid and Skene's model [1]_ with *one* confusion matrix :math:`C`, that of all annotators
    together, found by expectation maximisation,

    .. math:: P_{ij} \propto \pi_j \prod_{k \text{ given to } i} C_{jk}, \qquad
              \text{share} = \operatorname{mean}_i \sum_{j \text{ not given to } i} P_{ij}

    A matrix for each annotator says better who is right, and worse how often nobody is: so many
    parameters fit the answers too well, and take them for better than they are.

    Parameters
    ----------
    votes : Votes
        The answers.
    max_iter : int, default=100
        Limit of iterations.
    tol : float, default=1e-4
        They end when no confidence changes by more than this.

    Returns
    -------
    share : float
        Of the items that have answers.

    Notes
    -----
    In made-up crowds of 40 annotators, who are right in 50 to 90 % of two to five answers to each
    of 700 items with 2, 4 or 10 labels, it is off by .01 on average and by .05 at worst. Where half
    of the items are harder than the others for everybody it is too small, by .03 on average; on the
    music set it is .09 instead of .127.

    References
    ----------
    .. [1] A. P. Dawid, A. M. Skene, "Maximum likelihood estimation of observer error-rates using
       the EM algorithm", Applied Statistics 28(1), 1979.

    Examples
    --------
    >>> from ambilearn.crowd import Votes, estimate_unvoted_share
    >>> votes = Votes.from_wide([["a", "a"], ["a", "b"], ["b", "b"], ["c", "c"], ["c", "a"]])
    >>> round(estimate_unvoted_share(votes), 2)
    0.1
    """
    counts = votes.counts().toarray()
    answered = counts.any(axis=1)
    together = replace(
        votes,
        annotators=votes.annotators[:1],
        annotator_indices=np.zeros_like(votes.annotator_indices),
    )
    n_labels = counts.shape[1]
    total = counts.sum(axis=1, keepdims=True)
    confidences = np.where(answered[:, None], counts / np.maximum(total, 1), 1 / n_labels)
    for _ in range(max_iter):
        previous = confidences
        skills = Skills.estimate(together, confidences)
        prior = confidences[answered].mean(axis=0)
        confidences = _normalize(skills.log_likelihood(together), prior)
        if np.abs(confidences - previous).max() <= tol:
            break
    return float(unvoted_confidence(votes, confidences)[answered].mean())


def unvoted_confidence(votes: Votes, confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Confidence in labels that nobody gave, of each item; zero where there are no answers."""
    voted = votes.counts().toarray() > 0
    off = np.where(voted, 0.0, confidences).sum(axis=1)
    return np.where(voted.any(axis=1), off, 0.0)


def _normalize(
    log_likelihood: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    joint = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True)) * prior
    posterior: NDArray[np.float64] = joint / joint.sum(axis=1, keepdims=True)
    return posterior
