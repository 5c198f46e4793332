"""The skill of annotators given what the rows are, and what the rows are given the skills."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn.crowd.votes import Votes


@dataclass(frozen=True, eq=False)
class Skills:
    r"""Confusion matrix of every annotator.

    Parameters
    ----------
    confusion : ndarray of shape (n_annotators, n_labels, n_labels)
        :math:`C^a_{jk}`, the probability that annotator *a* answers *k* where *j* is right; rows
        sum to one.
    """

    confusion: NDArray[np.float64]

    @classmethod
    def estimate(
        cls, votes: Votes, confidences: NDArray[np.float64], *, smoothing: float = 1.0
    ) -> Self:
        r"""Skills that fit the confidences *P* in the labels of the items.

        .. math:: C^a_{jk} = \frac{N^a_{jk} + s\, \bar C_{jk}}{\sum_k N^a_{jk} + s}, \qquad
                  N^a_{jk} = \sum_{i:\ a \text{ answers } k} P_{ij}

        with the confusion :math:`\bar C` of all annotators together: who has answered little is
        like the others. :math:`\bar C` itself leans to chance by as much.

        Parameters
        ----------
        votes : Votes
            The answers.
        confidences : ndarray of shape (n_items, n_labels)
            Rows sum to one.
        smoothing : float, default=1.0
            The weight :math:`s > 0`, in answers.
        """
        n_labels = len(votes.classes)
        counts = answer_counts(votes, confidences)
        everybody = counts.sum(axis=0) + smoothing / n_labels
        everybody /= everybody.sum(axis=1, keepdims=True)
        smoothed = counts + smoothing * everybody
        return cls(smoothed / smoothed.sum(axis=2, keepdims=True))

    def log_likelihood(self, votes: Votes) -> NDArray[np.float64]:
        r"""How well each label explains the answers to each item, shape (n_items, n_labels).

        .. math:: \log \Lambda_{ij} = \sum_{a \text{ answers } k \text{ to } i} \log C^a_{jk}
        """
        n_labels = self.confusion.shape[1]
        given = np.log(self.confusion.transpose(0, 2, 1)).reshape(-1, n_labels)
        logarithms: NDArray[np.float64] = _incidence(votes) @ given
        return logarithms


def answer_counts(votes: Votes, confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Answers of each annotator by right and given label, shape (n_annotators, l, l).

    The right label of an item is shared among the labels as the confidences say.
    """
    n_labels = len(votes.classes)
    by_answer = _incidence(votes).T @ confidences
    counts: NDArray[np.float64] = by_answer.reshape(-1, n_labels, n_labels).transpose(0, 2, 1)
    return counts


def _incidence(votes: Votes) -> sparse.csr_array:
    """A one for every answer: items by pairs of annotator and given label."""
    n_labels = len(votes.classes)
    columns = votes.annotator_indices * n_labels + votes.label_indices
    shape = len(votes), len(votes.annotators) * n_labels
    return sparse.csr_array((np.ones(votes.n_answers), (votes.item_indices, columns)), shape=shape)
