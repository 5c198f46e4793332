"""IPAL: label propagation on a neighbor graph, then minimum-error reconstruction."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.sklearn_compat import Interval
from ambilearn.backend import Backend, Support
from ambilearn.base import PartialLabelClassifier
from ambilearn.graph.neighbors import (
    NEIGHBORS_CONSTRAINT,
    NeighborSearch,
    in_form_of,
    usable_neighbors,
    warn_inexact,
)
from ambilearn.methods._outer_loop import LOOP_CONSTRAINTS, OuterLoop
from ambilearn.methods._tuning import NEIGHBOR_COUNTS
from ambilearn.methods._votes import (
    normalize_candidate_votes,
    normalize_votes,
    restore_class_mass,
)
from ambilearn.solvers.nonnegative_least_squares import solve_nonnegative_least_squares


class IPAL(PartialLabelClassifier):
    r"""Instance-based partial-label learning by label propagation (IPAL).

    Every training row, scaled to unit length, is rebuilt from its *k* nearest neighbors with
    non-negative weights :math:`\min_{w \ge 0} \|x_i - \sum_a w_a x_a\|^2`. The weights, divided by
    their sum, form the graph :math:`H` along which the confidences :math:`F` spread from
    :math:`F^0 = Y / |S_i|` (Eqs. (4)-(6) of [1]_):

    .. math:: F \leftarrow \alpha H F + (1 - \alpha) F^0, \qquad
              F_{ij} \leftarrow \frac{F_{ij}\,[\,j \in S_i\,]}{\sum_{m \in S_i} F_{im}} .

    Where candidates have weights, :math:`F^0` are their shares in each row, and what the
    neighbors say of a candidate counts by its weight over the largest of the row. Then each
    label's mass is brought back to its prior one, and each row gets its best candidate:

    .. math:: \hat y_i = \arg\max_{j \in S_i} F_{ij} \sum_m F^0_{mj} \Big/ \sum_m F_{mj} .

    A new row is rebuilt in the same way, and is given the label whose neighbors alone leave the
    smallest residual, :math:`\arg\min_j \|x - \sum_{a: \hat y_a = j} w_a x_a\|`.

    Parameters
    ----------
    alpha : float, default=0.95
        Share :math:`0 \le \alpha < 1` of the confidences that comes from the neighbors.
    n_neighbors : int, default=10
        Number of neighbors *k*. Fewer are used, with a warning, when there are not that many
        rows.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How neighbors are searched. "auto" is exact up to 50 000 rows, and approximate above if
        the extra ``ann`` is installed. Any scikit-learn neighbors transformer will do, such as
        :class:`sklearn.neighbors.KNeighborsTransformer`; see
        :class:`~ambilearn.graph.neighbors.NeighborSearch`.
    max_iter : int, default=100
        Limit *T* of propagation steps.
    tol : float, default=1e-4
        Propagation ends when F changes by at most this, :math:`\|F_t - F_{t-1}\|_F / \sqrt n`.
        With 0 it runs ``max_iter`` steps and never warns.
    verbose : int, default=0
        Print a line per propagation step.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in the order of the columns below.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences F of the training rows after the correction of the class masses: zero off the
        candidates, rows sum to one; sparse if the candidates came as a sparse mask.
    transduction_ : ndarray of shape (n,)
        Disambiguated label :math:`\hat y_i` of each training row.
    graph_ : csr_array of shape (n, n)
        The graph H; row i rebuilds training row i, up to a factor.
    n_iter_ : int
        Propagation steps done.
    X_fit_ : array or sparse matrix of shape (n, d)
        Training rows, scaled to unit length.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X was a data frame with string column names.

    See Also
    --------
    PLKNN : The neighbors vote with all their candidates.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). The scores of
    ``decision_function`` are the negative residuals; ``predict_proba`` shares out what each label
    explains of the row's unit length. Nothing of size n² is ever formed. A row has no weight: a row
    that is rebuilt, and rebuilds others, does so whether or not it counts.

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
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbors": NEIGHBORS_CONSTRAINT,
        **LOOP_CONSTRAINTS,
    }
    _computes_on_devices = True
    _tuning_grid = {"alpha": (0.5, 0.8, 0.95, 0.99), "n_neighbors": NEIGHBOR_COUNTS}

    def __init__(
        self,
        *,
        alpha: float = 0.95,
        n_neighbors: int = 10,
        neighbors: Any = "auto",
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

    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        # Small letters are support vectors: F has one entry per candidate.
        backend = candidates.backend
        self.X_fit_ = X = backend.unit_rows(X)
        k = usable_neighbors(self.n_neighbors, X.shape[0])
        self._search = NeighborSearch(self.neighbors)
        neighbor_indices = self._search.fit(X, k)
        xp = array_namespace(neighbor_indices)
        parts = [
            _rebuild(backend, X[rows, ...], X, neighbor_indices[rows, ...])[0]
            for rows in backend.blocks(X, (k + 1) ** 2)
        ]
        weights = xp.concat(parts)
        total = xp.sum(weights, axis=1, keepdims=True)
        self.graph_ = backend.graph(neighbor_indices, weights / xp.where(total > 0, total, 1.0))
        spread = candidates.restrict(self.graph_)

        f = start = candidates.prior()
        loop = OuterLoop(self)
        while loop.should_continue():
            previous = f
            heard = candidates.relative_weights * (spread @ f)
            f = self.alpha * heard + (1 - self.alpha) * start
            f = normalize_candidate_votes(candidates, f)
            loop.record(f, previous, candidates.n_rows)

        f = normalize_candidate_votes(candidates, restore_class_mass(candidates, f, start))
        self.label_distributions_ = candidates.as_output(f)
        self._disambiguated = candidates.best_labels(f)
        self.n_iter_ = loop.n_iter

    def _scores(self, X: Any) -> NDArray[np.float64]:
        backend = self._search.backend
        X = backend.unit_rows(in_form_of(self.X_fit_, X))
        k = min(self.n_neighbors, self.X_fit_.shape[0])
        neighbor_indices = self._search.query(X, k)
        parts = [
            self._block_scores(X[rows, ...], neighbor_indices[rows, ...])
            for rows in backend.blocks(X, (k + 1) ** 2)
        ]
        scores: NDArray[np.float64] = array_namespace(neighbor_indices).concat(parts)
        return scores

    def _block_scores(self, X: Any, neighbor_indices: NDArray[np.intp]) -> Any:
        """Scores of some unit-length rows; what they need has a k×k matrix for each."""
        backend = self._search.backend
        weights, products = _rebuild(backend, X, self.X_fit_, neighbor_indices)
        xp = array_namespace(weights)
        labels = xp.take(self._disambiguated, xp.reshape(neighbor_indices, (-1,)))
        labels = xp.reshape(labels, neighbor_indices.shape)
        squares = backend.squared_residuals(weights, products, labels, self.classes_.shape[0])
        return -xp.sqrt(xp.clip(squares, min=0.0))

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        xp = array_namespace(scores)
        worst = xp.clip(-xp.min(scores, axis=1, keepdims=True), min=1.0)
        return normalize_votes(worst + scores)


def _rebuild(
    backend: Backend, X: Any, Z: Any, neighbor_indices: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Non-negative weights that rebuild the rows of X from neighbors in Z; all inner products."""
    products = backend.neighbor_products(X, Z, neighbor_indices)
    gram, row = products[:, 1:, 1:], products[:, 1:, 0]
    solution = solve_nonnegative_least_squares(gram, row)
    if not solution.is_optimal:
        warn_inexact(solution, "neighbor weights")
    return solution.value, products
