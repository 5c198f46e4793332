"""The skill of annotators by the answers alone: Dawid and Skene's model, solved by crowd-kit."""

from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.optional import requires_extra
from ambilearn.crowd.votes import Votes


def dawid_skene(votes: Votes, *, max_iter: int = 100) -> NDArray[np.float64]:
    r"""Probability of every label of every item, by the answers and the skill of who gave them.

    Dawid and Skene [1]_ give every annotator *a* a confusion matrix
    :math:`C^a_{jk} = P(\text{answer } k \mid \text{truth } j)`, and find it together with the
    truths by expectation maximisation. Features play no part.

    Parameters
    ----------
    votes : Votes
        The answers.
    max_iter : int, default=100
        Limit of iterations.

    Returns
    -------
    posterior : ndarray of shape (n_items, n_labels)
        Rows sum to one; of an item without answers it is the share of each label among the
        others. As weights: ``as_candidates(posterior, classes=votes.classes)``.

    See Also
    --------
    CrowdClassifier : Lets the features help to judge the annotators.

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
    with requires_extra("crowd", purpose="Judging annotators"):
        from crowdkit.aggregation import DawidSkene
    import pandas as pd  # which crowd-kit brings

    answers = pd.DataFrame(
        {
            "task": votes.item_indices,
            "worker": votes.annotator_indices,
            "label": votes.label_indices,
        }
    )
    with catch_warnings():
        # What of pandas crowd-kit uses that will go one day: nothing that our users can mend.
        for category in (DeprecationWarning, FutureWarning):
            simplefilter("ignore", category)
        model: Any = DawidSkene(n_iter=max_iter).fit(answers)
    labels = range(len(votes.classes))
    found = model.probas_.reindex(columns=labels, fill_value=0.0).reindex(range(len(votes)))
    prior = model.priors_.reindex(labels, fill_value=0.0).to_numpy()
    posterior: NDArray[np.float64] = found.to_numpy(dtype=np.float64)
    posterior = np.where(np.isnan(posterior), prior, posterior)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior
