"""The skills of annotators, and labels from their answers alone by the model of Dawid and Skene."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, softmax

from ambilearn._utils.rounds import warn_unless_converged
from ambilearn.crowd.votes import Votes, as_votes

Smoothing = float | Literal["auto"]

_SMOOTHING_RANGE = (0.25, 2000.0)  # of the search
_NO_SMOOTHING = 1e-10  # so that no answer is impossible


@dataclass(frozen=True, eq=False)
class Skills:
    r"""Confusion matrices of the annotators, with a common prior.

    .. math:: C^a_{jk} = \frac{N^a_{jk} + s\, \bar C_{jk}}{\sum_k N^a_{jk} + s}

    is the probability that annotator *a* gives label *k* to a row with label *j*: the mean of the
    posterior under the prior :math:`C^a_j \sim \text{Dirichlet}(s \bar C_j)`. An annotator with few
    answers is close to the average annotator :math:`\bar C`.

    Parameters
    ----------
    counts : ndarray of shape (n_annotators, n_labels, n_labels)
        :math:`N^a_{jk}`, the answers of each annotator by right and given label.
    pooled : ndarray of shape (n_labels, n_labels)
        :math:`\bar C`, the confusion matrix of all annotators together; rows sum to one.
    smoothing : float
        :math:`s`, the weight of :math:`\bar C` in answers.
    """

    counts: NDArray[np.float64]
    pooled: NDArray[np.float64]
    smoothing: float

    @classmethod
    def estimate(
        cls, votes: Votes, confidences: NDArray[np.float64], *, smoothing: Smoothing = "auto"
    ) -> Self:
        r"""Skills that fit the confidences *T* in the labels of the items.

        :math:`N^a_{jk} = \sum_{i:\ a \text{ answers } k} T_{ij}` and :math:`\bar C_{jk} \propto
        \sum_a N^a_{jk} + 1/l`.

        Parameters
        ----------
        votes : Votes
            The answers.
        confidences : ndarray of shape (n_items, n_labels)
            Rows sum to one.
        smoothing : float or "auto", default="auto"
            The weight :math:`s > 0`. "auto" chooses it by :func:`choose_smoothing` from the answers
            by most likely and given label. The expected counts *N* differ less between annotators
            than the answers do, and with few answers *s* would be too large.
        """
        if smoothing == "auto":
            best = np.eye(len(votes.classes))[confidences.argmax(axis=1)]
            smoothing = choose_smoothing(answer_counts(votes, best))
        counts = answer_counts(votes, confidences)
        return cls(counts, pool_counts(counts), smoothing)

    @property
    def confusion(self) -> NDArray[np.float64]:
        """The smoothed confusion matrices *C*, shape (n_annotators, n_labels, n_labels)."""
        smoothed = self.counts + self.smoothing * self.pooled
        return smoothed / smoothed.sum(axis=2, keepdims=True)

    def log_likelihood(self, votes: Votes) -> NDArray[np.float64]:
        r"""Log-likelihood of the answers to each item for each label, shape (n_items, n_labels).

        .. math:: \log \Lambda_{ij} = \sum_{a \text{ answers } k \text{ to } i} \log C^a_{jk}
        """
        who, given = votes.annotator_indices, votes.label_indices
        probabilities = self._smoothed(self.counts[who, :, given], self._totals[who], given)
        return sum_by_group(np.log(probabilities), votes.item_indices, len(votes))

    @property
    def _totals(self) -> NDArray[np.float64]:
        """Answers of each annotator by right label, shape (n_annotators, n_labels)."""
        return self.counts.sum(axis=2)

    def _smoothed(self, hits: Any, totals: Any, given: Any) -> NDArray[np.float64]:
        """Entries of the confusion matrices from counts of answers, shape (n_answers, n_labels)."""
        s = self.smoothing
        return (hits + s * self.pooled.T[given]) / (totals + s)

    def held_out_probabilities(
        self, votes: Votes, confidences: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Probability of each answer for each label of its item, shape (n_answers, n_labels).

        The skill of the annotator is estimated without the item, so that no answer is evidence for
        itself: :math:`C^a_{jk}` with the counts :math:`N^a` of the other items.

        Parameters
        ----------
        votes, confidences
            As for :meth:`estimate`.
        """
        items, who, given = votes.item_indices, votes.annotator_indices, votes.label_indices
        own = confidences[items]
        pairs = items * len(votes.annotators) + who
        same_pair = _repeats(pairs)[:, None]
        same_answer = _repeats(pairs * len(votes.classes) + given)[:, None]
        # Differences below zero are rounding errors.
        hits = np.maximum(self.counts[who, :, given] - same_answer * own, 0)
        totals = np.maximum(self._totals[who] - same_pair * own, 0)
        return self._smoothed(hits, totals, given)


def choose_smoothing(counts: NDArray[np.float64]) -> float:
    r"""The weight of the prior that makes the answers of all annotators most likely.

    Maximizes the Dirichlet–multinomial marginal likelihood [1]_

    .. math:: \sum_{a, j} \Big[\log\Gamma(s) - \log\Gamma(s + \textstyle\sum_k N^a_{jk})
              + \sum_k \log\Gamma(s \bar C_{jk} + N^a_{jk}) - \log\Gamma(s \bar C_{jk})\Big]

    over *s* from 0.25 to 2000. If the annotators differ little, *s* is large.

    Parameters
    ----------
    counts : ndarray of shape (n_annotators, n_labels, n_labels)
        *N*, the answers by right and given label.

    Returns
    -------
    smoothing : float

    References
    ----------
    .. [1] T. P. Minka, "Estimating a Dirichlet distribution", technical report, MIT, 2000.
    """
    used = counts > 0  # the other terms are zero
    means = np.broadcast_to(pool_counts(counts), counts.shape)[used]
    total, numbers = counts.sum(axis=2), counts[used]

    def loss(log_s: float) -> float:
        s = np.exp(log_s)
        gain = gammaln(s * means + numbers) - gammaln(s * means)
        return -float((gammaln(s) - gammaln(s + total)).sum() + gain.sum())

    bounds = np.log(_SMOOTHING_RANGE)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def pool_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Confusion matrix :math:`\bar C` of all annotators together, shape (n_labels, n_labels)."""
    pooled = counts.sum(axis=0) + 1 / counts.shape[1]
    return pooled / pooled.sum(axis=1, keepdims=True)


def answer_counts(votes: Votes, confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Answers of each annotator by right and given label, shape (n_annotators, l, l).

    An answer counts for each right label by its confidence.
    """
    n_labels = len(votes.classes)
    pairs = votes.annotator_indices * n_labels + votes.label_indices
    sums = sum_by_group(confidences[votes.item_indices], pairs, len(votes.annotators) * n_labels)
    return sums.reshape(-1, n_labels, n_labels).transpose(0, 2, 1)


def sum_by_group(
    values: NDArray[np.float64], groups: NDArray[np.intp], n_groups: int
) -> NDArray[np.float64]:
    """Sums of the rows of each group, shape (n_groups, n_columns)."""
    places = groups, np.arange(len(groups))
    table = sparse.csr_array((np.ones(len(groups)), places), shape=(n_groups, len(groups)))
    return table @ values


def _repeats(keys: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number of equal keys of each key."""
    _, places, numbers = np.unique(keys, return_inverse=True, return_counts=True)
    return numbers[places]


def normalize(
    log_likelihood: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Posterior :math:`\propto \Lambda \pi`; ``prior`` has one row, or a row for each item."""
    with np.errstate(divide="ignore"):  # zeros stay zeros
        posterior: NDArray[np.float64] = softmax(log_likelihood + np.log(prior), axis=1)
    return posterior


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
