"""Votes as confidences: each row divided by its sum, the shares before them if nobody voted."""

import numpy as np
from numpy.typing import NDArray

from ambilearn.candidates import CandidateSets


def normalize_votes(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of every label in the votes of each row.

    Parameters
    ----------
    votes : ndarray of shape (n, l)
        Non-negative votes.

    Returns
    -------
    shares : ndarray of shape (n, l)
        Rows that sum to one.
    """
    total = votes.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.where(total > 0, votes, 1.0)
    shares /= np.where(total > 0, total, votes.shape[1])
    return shares


def normalize_candidate_votes(
    candidates: CandidateSets, votes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of every candidate in the votes for the candidates of its row.

    Parameters
    ----------
    candidates : CandidateSets
        Candidate sets of the rows.
    votes : ndarray of shape (n_pairs,)
        Non-negative votes, one per candidate.

    Returns
    -------
    shares : ndarray of shape (n_pairs,)
        A point of the candidate simplices.
    """
    total = np.bincount(candidates.rows, votes, candidates.n_rows)[candidates.rows]
    return np.where(total > 0, votes / np.where(total > 0, total, 1.0), candidates.prior())
