"""Votes as confidences: each row divided by its sum, the shares before them if nobody voted."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
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
    xp = array_namespace(votes)
    total = xp.sum(votes, axis=1, keepdims=True)
    shares: NDArray[np.float64] = xp.where(total > 0, votes, 1.0)
    shares /= xp.where(total > 0, total, float(votes.shape[1]))
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
    if not is_numpy_array(votes):
        xp = array_namespace(votes)
        total = xp.take(xp.sum(candidates.scatter(votes), axis=1), candidates.rows)
        shares = votes / xp.where(total > 0, total, 1.0)
        known: NDArray[np.float64] = xp.where(total > 0, shares, candidates.prior())
        return known
    total = np.bincount(candidates.rows, votes, candidates.n_rows)[candidates.rows]
    return np.where(total > 0, votes / np.where(total > 0, total, 1.0), candidates.prior())


def restore_class_mass(
    candidates: CandidateSets,
    f: NDArray[np.float64],
    prior: NDArray[np.float64],
    share: float = 1.0,
) -> NDArray[np.float64]:
    """Confidences scaled so that every label has its prior mass again; not normalized.

    Methods come to favor frequent labels; this is the last step of IPAL.

    Parameters
    ----------
    candidates : CandidateSets
        Candidate sets of the rows.
    f : ndarray of shape (n_pairs,)
        Confidences, one per candidate.
    prior : ndarray of shape (n_pairs,)
        Those before anything was learned.
    share : float, default=1.0
        How much of the way back is gone, between the masses that were learned (0) and the prior
        ones (1); half the way are their geometric means.

    Returns
    -------
    scaled : ndarray of shape (n_pairs,)
    """
    factors: Any
    scaled: NDArray[np.float64]
    if not is_numpy_array(f):
        xp = array_namespace(f)
        mass, wanted = (xp.sum(candidates.scatter(v), axis=0) for v in (f, prior))
        factors = (wanted / xp.where(mass > 0, mass, 1.0)) ** share
        scaled = f * xp.take(factors, candidates.labels)
        return scaled
    mass, wanted = (np.bincount(candidates.labels, v, candidates.n_labels) for v in (f, prior))
    factors = (wanted / np.where(mass > 0, mass, 1.0)) ** share
    scaled = f * factors[candidates.labels]
    return scaled
