"""Labels from the answers alone: the model of Dawid and Skene."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.rounds import warn_unless_converged
from ambilearn.crowd.shared_mistakes import normalize
from ambilearn.crowd.skills import Skills
from ambilearn.crowd.votes import as_votes

_NO_SMOOTHING = 1e-10  # so that no answer is impossible


def dawid_skene(votes: Any, *, max_iter: int = 100, tol: float = 1e-3) -> NDArray[np.float64]:
    r"""Probability of every label of every item, from the answers and the annotators' skills.

    Dawid and Skene [1]_ give every annotator *a* a confusion matrix
    :math:`C^a_{jk} = P(\text{answer } k \mid \text{label } j)`, and estimate it together with the
    labels by expectation maximization, starting from the shares of the answers. Features are not
    used.

    Parameters
    ----------
    votes : Votes, or table of shape (n_items, n_annotators)
        The answers; a table is read by :meth:`Votes.from_wide`.
    max_iter : int, default=100
        Limit of iterations.
    tol : float, default=1e-3
        The iterations end when the probabilities *T* change by at most this,
        :math:`\|T_t - T_{t-1}\|_F / \sqrt n`.

    Returns
    -------
    posterior : ndarray of shape (n_items, n_labels)
        Rows sum to one. The row of an item without answers is the share of each label among the
        other items. As weights: ``as_candidates(posterior, classes=votes.classes)``.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` ends the iterations, unless ``tol=0``.

    See Also
    --------
    CrowdClassifier : Also uses the features.

    References
    ----------
    .. [1] A. P. Dawid, A. M. Skene, "Maximum likelihood estimation of observer error-rates using
       the EM algorithm", Applied Statistics 28(1), 1979.

    Examples
    --------
    >>> from ambilearn.crowd import Votes, dawid_skene
    >>> votes = Votes.from_wide([["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]])
    >>> dawid_skene(votes).round(2)[:, 0]
    array([1., 0., 1.])
    """
    votes = as_votes(votes)
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1; got {max_iter}.")
    answered = votes.answers_per_item > 0
    shares = votes.counts().toarray() / np.maximum(votes.answers_per_item, 1)[:, None]
    prior = shares[answered].mean(axis=0)
    posterior: NDArray[np.float64] = np.where(answered[:, None], shares, prior)
    for _ in range(max_iter):
        previous = posterior
        skills = Skills.estimate(votes, posterior, smoothing=_NO_SMOOTHING)
        posterior = normalize(skills.log_likelihood(votes), prior)
        prior = posterior[answered].mean(axis=0)
        posterior[~answered] = prior
        change = float(np.linalg.norm(posterior - previous)) / len(votes) ** 0.5
        if change <= tol:
            break
    warn_unless_converged("dawid_skene", change, tol, max_iter)
    return posterior
