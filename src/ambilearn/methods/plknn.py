"""PL-KNN: the neighbors vote for all their candidate labels."""

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ambilearn._utils.types import Matrix
from ambilearn.backend import Support
from ambilearn.base import (
    PartialLabelClassifier,
    match_sparsity,
    normalize_candidate_votes,
    normalize_votes,
)
from ambilearn.fitting import WeightedRowsMixin
from ambilearn.graph.neighbors import NEIGHBOR_CONSTRAINTS
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.rows import TrainingRows


@insert_shared_docs
class PLKNN(WeightedRowsMixin, PartialLabelClassifier):
    r"""k-nearest-neighbor voting with candidate sets (PL-KNN).

    Each of the *k* nearest training rows votes for all of its candidates, with a weight that
    decreases with its distance [1]_:

    .. math:: s_j(x) = \sum_{a \in \mathcal N(x)} w_a\, [\,j \in S_a\,], \qquad
              w_a = 1 - \frac{d_a}{\sum_{b \in \mathcal N(x)} d_b}

    with the Euclidean distances :math:`d_a`. The label with the most votes is predicted. If
    candidates have weights, each vote is multiplied by the weight of the candidate divided by the
    largest weight in its set.

    Parameters
    ----------
    {n_neighbors}
    {neighbors}

    Attributes
    ----------
    {classes_}
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences of the training rows: the votes of the *other* training rows for the candidates
        of the row, times the candidate weights if there are any, divided by their sum. Rows without
        such votes have their normalized candidate weights. Sparse if y is a sparse mask.
    {transduction_}
    train_output_ : ndarray or csr_array of shape (n, l)
        Votes of the other training rows for every label. Sparse if y is a sparse mask.
    candidates_ : csr_array of shape (n, l)
        Votes of each training row for its candidates.
    X_fit_ : array or sparse matrix of shape (n, d)
        Training rows.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLDA : Augments the features with class prototypes before the vote.
    IPAL : Disambiguates the training rows before the neighbors vote.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). If all neighbors
    are duplicates of the row, or if there is only one neighbor, the weights in the formula are 0/0
    or 0; the votes then have equal weights. A widely copied implementation removes the nearest
    neighbor of every *test* row, as if it were the row itself; this one does not.

    References
    ----------
    .. [1] Hüllermeier, Beringer. Learning from ambiguously labeled examples. Intelligent Data
       Analysis 10(5), 419-439, 2006.

    Examples
    --------
    >>> from ambilearn import PLKNN
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = PLKNN(n_neighbors=3).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.predict_proba([[1.0, 0.0]]).round(2)
    array([[0.62, 0.24, 0.15]])
    """

    _parameter_constraints = NEIGHBOR_CONSTRAINTS
    _computes_on_devices = True
    _train_output_is_held_out = True
    _tuning_grid = {"n_neighbors": (3, 5, 8, 10, 15, 20, 30)}

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        neighbors: str | BaseEstimator = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        X = self.X_fit_ = rows.X
        votes_of_rows = candidates.relative_weights * candidates.pair_weights
        self.candidates_ = candidates.vote_table(votes_of_rows)
        neighbors = rows.neighbors(self.n_neighbors, self.neighbors)
        self._search = neighbors.search
        votes = self._votes(X, neighbors.indices)
        self.train_output_ = votes if candidates.sets.sparse_mask else _dense(votes)
        shares = candidates.gather(votes) * candidates.relative_weights
        shares = normalize_candidate_votes(candidates, shares)
        self.label_distributions_ = candidates.as_output(shares)

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        X = match_sparsity(self.X_fit_, X)
        k = min(self.n_neighbors, self.X_fit_.shape[0])
        return _dense(self._votes(X, self._search.query(X, k)))

    def _votes(self, X: Matrix, neighbor_indices: NDArray[np.intp]) -> Matrix:
        """Votes of the given neighbors for every label, shape (n, l)."""
        backend = self._search.backend
        distances = backend.neighbor_distances(X, self.X_fit_, neighbor_indices)
        xp = array_namespace(distances)
        total = xp.sum(distances, axis=1, keepdims=True)
        weights = 1 - distances / xp.where(total > 0, total, 1.0)
        if neighbor_indices.shape[1] == 1:
            weights = xp.ones_like(weights)
        return backend.count_votes(neighbor_indices, weights, self.candidates_)

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalize_votes(scores)


def _dense(votes: Matrix) -> NDArray[np.float64]:
    return votes.toarray() if sparse.issparse(votes) else votes
