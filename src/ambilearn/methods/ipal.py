"""IPAL: label propagation on a neighbor graph, then minimum-error reconstruction."""

from numbers import Real

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ambilearn._utils.rounds import LOOP_CONSTRAINTS, OuterLoop
from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import Backend, Support
from ambilearn.base import (
    PartialLabelClassifier,
    match_sparsity,
    normalize_candidate_votes,
    normalize_votes,
    rank_last,
)
from ambilearn.graph.neighbors import NEIGHBOR_CONSTRAINTS, NEIGHBOR_COUNTS, value_of
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.rows import TrainingRows
from ambilearn.solvers.nonnegative_least_squares import solve_nonnegative_least_squares


@insert_shared_docs
class IPAL(PartialLabelClassifier):
    r"""Instance-based partial-label learning by label propagation (IPAL).

    Every training row, scaled to unit length, is reconstructed from its *k* nearest neighbors with
    non-negative weights :math:`\min_{w \ge 0} \|x_i - \sum_a w_a x_a\|^2`. The weights, divided by
    their sum, form the graph :math:`H` on which the confidences :math:`F` are propagated, starting
    with :math:`F^0 = Y / |S_i|` (Eqs. (4)-(6) of [1]_):

    .. math:: F \leftarrow \alpha H F + (1 - \alpha) F^0, \qquad
              F_{ij} \leftarrow \frac{F_{ij}\,[\,j \in S_i\,]}{\sum_{m \in S_i} F_{im}} .

    If candidates have weights, :math:`F^0` are the weights divided by their sum in each row, and
    :math:`HF` is multiplied by the weights divided by the largest weight in each row. After
    propagation, the total mass of each label is restored to its prior mass, and each row is
    assigned its best candidate:

    .. math:: \hat y_i = \arg\max_{j \in S_i} F_{ij} \sum_m F^0_{mj} \Big/ \sum_m F_{mj} .

    A new row is reconstructed in the same way. The predicted label is the one whose neighbors alone
    leave the smallest residual, :math:`\arg\min_j \|x - \sum_{a: \hat y_a = j} w_a x_a\|`.

    Parameters
    ----------
    alpha : float, default=0.95
        Fraction :math:`0 \le \alpha < 1` of the confidences that comes from the neighbors.
    {n_neighbors}
    {neighbors}
    max_iter : int, default=100
        Maximum number of propagation steps.
    tol : float, default=1e-4
        Tolerance of the stopping criterion: propagation stops when F changes by at most ``tol``,
        :math:`\|F_t - F_{t-1}\|_F / \sqrt n`. With 0, exactly ``max_iter`` steps run and no warning
        is issued.
    verbose : int, default=0
        If positive, print a line per propagation step.

    Attributes
    ----------
    {classes_}
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences F of the training rows after the class masses are restored: zero for labels that
        are not candidates; each row sums to one. Sparse if y is a sparse mask.
    {transduction_}
    graph_ : csr_array of shape (n, n)
        The graph H; row i has the weights that reconstruct training row i, up to a factor.
    n_iter_ : int
        Number of propagation steps.
    X_fit_ : array or sparse matrix of shape (n, d)
        Training rows, scaled to unit length.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLKNN : The neighbors vote for all their candidates.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`).
    ``decision_function`` returns the negative residuals; labels that are never a candidate are
    below all others. ``predict_proba`` normalizes the share of each row that is explained by each
    label. No array of size n² is allocated. ``sample_weight`` is not supported.

    References
    ----------
    .. [1] Zhang, Yu. Solving the partial label learning problem: an instance-based approach.
       IJCAI 2015.

    Examples
    --------
    >>> from ambilearn import IPAL
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = IPAL(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, 1, closed="left")],
        **NEIGHBOR_CONSTRAINTS,
        **LOOP_CONSTRAINTS,
    }
    _computes_on_devices = True
    _never_candidate: Array | bool = False  # not known in a model file of version 0.1
    _tuning_grid = {"alpha": (0.5, 0.8, 0.95, 0.99), "n_neighbors": NEIGHBOR_COUNTS}

    def __init__(
        self,
        *,
        alpha: float = 0.95,
        n_neighbors: int = 10,
        neighbors: str | BaseEstimator = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        # Small letters are support vectors: F has one entry per candidate.
        backend = candidates.backend
        neighbor_indices, self._search, X, _ = rows.neighbors(
            self.n_neighbors, self.neighbors, form="unit"
        )
        self.X_fit_ = X
        xp = array_namespace(neighbor_indices)
        parts = [
            _rebuild(backend, X[block, ...], X, neighbor_indices[block, ...])[0]
            for block in backend.blocks(X, (neighbor_indices.shape[1] + 1) ** 2)
        ]
        weights = xp.concat(parts)
        total = xp.sum(weights, axis=1, keepdims=True)
        self.graph_ = backend.graph(neighbor_indices, weights / xp.where(total > 0, total, 1.0))
        propagation = candidates.restrict(self.graph_)

        f = start = candidates.prior()
        loop = OuterLoop(self)
        while loop.should_continue():
            previous = f
            from_neighbors = candidates.relative_weights * (propagation @ f)
            f = self.alpha * from_neighbors + (1 - self.alpha) * start
            f = normalize_candidate_votes(candidates, f)
            loop.record(f, previous, candidates.n_rows)

        f = normalize_candidate_votes(candidates, restore_class_mass(candidates, f, start))
        self.label_distributions_ = candidates.as_output(f)
        self._disambiguated = candidates.best_labels(f)
        counts = np.bincount(candidates.sets.labels, minlength=candidates.n_labels)
        self._never_candidate = backend.asarray(counts == 0)
        self.n_iter_ = loop.n_iter

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        backend = self._search.backend
        X = backend.unit_rows(match_sparsity(self.X_fit_, X))
        k = min(self.n_neighbors, self.X_fit_.shape[0])
        neighbor_indices = self._search.query(X, k)
        parts = [
            self._block_scores(X[rows, ...], neighbor_indices[rows, ...])
            for rows in backend.blocks(X, (k + 1) ** 2)
        ]
        # If no neighbor explains a row, all residuals are equal.
        return rank_last(array_namespace(neighbor_indices).concat(parts), self._never_candidate)

    def _block_scores(self, X: Matrix, neighbor_indices: NDArray[np.intp]) -> Matrix:
        """Scores of a block of unit-length rows; needs a k×k matrix for each row."""
        backend = self._search.backend
        weights, products = _rebuild(backend, X, self.X_fit_, neighbor_indices)
        xp = array_namespace(weights)
        labels = xp.take(self._disambiguated, xp.reshape(neighbor_indices, (-1,)))
        labels = xp.reshape(labels, neighbor_indices.shape)
        squares = backend.squared_residuals(weights, products, labels, self.classes_.shape[0])
        return -xp.sqrt(xp.clip(squares, min=0.0))

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        xp = array_namespace(scores)
        known = xp.where(self._never_candidate, 0.0, scores)
        worst = xp.clip(-xp.min(known, axis=1, keepdims=True), min=1.0)
        return normalize_votes(xp.where(self._never_candidate, 0.0, worst + scores))


def _rebuild(
    backend: Backend, X: Matrix, Z: Matrix, neighbor_indices: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Non-negative weights that reconstruct X from neighbors in Z, and all inner products."""
    products = backend.neighbor_products(X, Z, neighbor_indices)
    gram, row = products[:, 1:, 1:], products[:, 1:, 0]
    solution = solve_nonnegative_least_squares(gram, row)
    return value_of(solution, "neighbor weights"), products


def restore_class_mass(
    candidates: Support,
    f: NDArray[np.float64],
    prior: NDArray[np.float64],
    share: float = 1.0,
) -> NDArray[np.float64]:
    """Confidences scaled so that every label has its prior mass again; not normalized.

    Methods come to favor frequent labels. ``f`` and ``prior`` are
    the confidences after and before the fit, one per candidate. ``share`` interpolates between the
    learned masses (0) and the prior masses (1); 0.5 gives their geometric means.
    """
    xp = array_namespace(f)
    mass, wanted = candidates.label_sums(f), candidates.label_sums(prior)
    factors = (wanted / xp.where(mass > 0, mass, 1.0)) ** share
    return f * xp.take(factors, candidates.labels)
