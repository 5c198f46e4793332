"""Votes as confidences: each row divided by its sum; prior shares for rows without votes."""

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn.backend import Support


def normalize_votes(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of every label in the non-negative votes (n, l) of each row; rows sum to one."""
    xp = array_namespace(votes)
    total = xp.sum(votes, axis=1, keepdims=True)
    shares: NDArray[np.float64] = xp.where(total > 0, votes, 1.0)
    shares /= xp.where(total > 0, total, float(votes.shape[1]))
    return shares


def normalize_candidate_votes(
    candidates: Support, votes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of every candidate in the non-negative votes for the candidates of its row."""
    xp = array_namespace(votes)
    total = xp.take(candidates.row_sums(votes), candidates.rows)
    shares = votes / xp.where(total > 0, total, 1.0)
    return xp.where(total > 0, shares, candidates.prior())


def restore_class_mass(
    candidates: Support,
    f: NDArray[np.float64],
    prior: NDArray[np.float64],
    share: float = 1.0,
) -> NDArray[np.float64]:
    """Confidences scaled so that every label has its prior mass again; not normalized.

    Methods come to favor frequent labels; this is the last step of IPAL. ``f`` and ``prior`` are
    the confidences after and before the fit, one per candidate. ``share`` interpolates between the
    learned masses (0) and the prior masses (1); 0.5 gives their geometric means.
    """
    xp = array_namespace(f)
    mass, wanted = candidates.label_sums(f), candidates.label_sums(prior)
    factors = (wanted / xp.where(mass > 0, mass, 1.0)) ** share
    return f * xp.take(factors, candidates.labels)
