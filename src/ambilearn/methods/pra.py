"""PRA: a base method refitted to its features and its own outputs, the graph to the outputs."""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import clone

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.sklearn_compat import Interval, StrOptions
from ambilearn.backend import Support
from ambilearn.base import PartialLabelClassifier, WeightedRowsClassifier
from ambilearn.graph.neighbors import NEIGHBORS_CONSTRAINT
from ambilearn.kernel.landmarks import LANDMARKS_CONSTRAINT
from ambilearn.methods._base_method import WrapperMixin, fit_base
from ambilearn.methods._kernel_classifier import KernelPartialLabelClassifier
from ambilearn.methods._outputs import side_by_side
from ambilearn.methods._tuning import NEIGHBOR_COUNTS
from ambilearn.methods.plaggd import PLAGGD


class PRA(WrapperMixin, WeightedRowsClassifier):
    r"""A base method, refitted to the features and its own outputs (PRA).

    The outputs :math:`Z` of a classifier that has learned from the candidate sets tell rows apart
    that the features :math:`X` do not. So the base is fitted twice, to the same candidate sets
    [1]_:

    .. math:: f_1 = \text{base}(X), \qquad
              Z_{\cdot j} = \frac{f_1(X)_{\cdot j} - m_j}{s_j}, \qquad
              f_2 = \text{base}([X, Z]), \quad \text{its graph of } Z \text{ alone}

    with mean :math:`m_j` and deviation :math:`s_j` of each label's outputs on the training rows.
    A new row is given its outputs in the same way, and :math:`f_2` predicts.

    Parameters
    ----------
    estimator : PartialLabelClassifier, default=None
        The base: any method but one with a precomputed kernel, which has no features to append to.
        None stands for :class:`~ambilearn.methods.plaggd.PLAGGD` with the parameters below.
    graph_on : {"outputs", "all"}, default="outputs"
        Whether the graph of the second fit is built of Z, or of all of [X, Z]. It matters to bases
        that have a kernel classifier and a graph beside it; others take [X, Z] for everything.
    n_neighbors : int, default=10
        Neighbours in the graph of the default base. Fewer are used, with a warning, when there are
        not that many rows.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How they are searched; see :class:`~ambilearn.graph.neighbors.NeighborSearch`.
    n_landmarks : int, optional
        Number of landmarks of a low-rank kernel of the default base. None, the default, is the
        exact kernel.
    landmarks : {"kmeans", "uniform"}, default="kmeans"
        Landmarks are centres of k-means, or rows drawn at random.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in the order of the columns below.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences of the training rows, from the second fit.
    transduction_ : ndarray of shape (n,)
        Disambiguated label of each training row: the candidate of largest confidence.
    first_estimator_ : PartialLabelClassifier
        The base fitted to X.
    estimator_ : PartialLabelClassifier
        The base fitted to [X, Z].
    output_mean_, output_scale_ : ndarray of shape (l,)
        Mean and deviation of the first base's outputs on the training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X was a data frame with string column names.

    See Also
    --------
    PLAGGD : The default base.
    PLDA : Appends prototypes instead of outputs.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`): Z is, so that a label
    counts as much as a feature. The outputs of the training rows are those of a base that has seen
    their candidate sets, not outputs from folds.

    The text of [1]_ could not be had. Known is what the formulas say, [X, Z] for the kernel and Z
    for the graph. Choices of this library are the base, two fits and no more, and how outputs are
    scaled. Z is a dense matrix of rows and labels, also for a sparse mask. Where rows have weights,
    the base must have a use for them.

    References
    ----------
    .. [1] Liu, Sun, Zhao, Jia. Electronics 15(18), 4210, 2026.

    Examples
    --------
    >>> from ambilearn import PRA, SURE
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = PRA(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> PRA(estimator=SURE()).fit(X, y).transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        "estimator": [PartialLabelClassifier, None],
        "graph_on": [StrOptions({"outputs", "all"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbors": NEIGHBORS_CONSTRAINT,
        "n_landmarks": [None, LANDMARKS_CONSTRAINT],
        "landmarks": [StrOptions({"kmeans", "uniform"})],
        "random_state": ["random_state"],
    }
    _tuning_grid = {"n_neighbors": NEIGHBOR_COUNTS}

    def __init__(
        self,
        *,
        estimator: PartialLabelClassifier | None = None,
        graph_on: str = "outputs",
        n_neighbors: int = 10,
        neighbors: Any = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.graph_on = graph_on
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state

    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        base = self._base()
        self.first_estimator_ = fit_base(clone(base), X, candidates.sets)
        outputs = self.first_estimator_._scores(X)
        self.output_mean_ = _means(outputs, candidates.row_weights)
        self.output_scale_ = _deviations(outputs, candidates.row_weights)

        self.estimator_ = clone(base)
        if self.graph_on == "outputs" and isinstance(base, KernelPartialLabelClassifier):
            self.estimator_._graph_from = X.shape[1]
        with warnings.catch_warnings():
            # There are as many rows as before: what was to say of neighbours has been said.
            warnings.filterwarnings("ignore", "n_neighbors", UserWarning)
            fit_base(self.estimator_, self._append(X, outputs), candidates.sets)
        self.label_distributions_ = self.estimator_.label_distributions_

    def _base(self) -> PartialLabelClassifier:
        if self.estimator is None:
            params = self.get_params(deep=False)
            return PLAGGD(**{k: params[k] for k in params if k not in ("estimator", "graph_on")})
        if getattr(self.estimator, "kernel", None) == "precomputed":
            raise ValueError(
                "PRA appends outputs to features, and a kernel matrix has none: pass the features "
                "as X, and an estimator with another kernel than 'precomputed', such as a callable."
            )
        return self.estimator

    def _append(self, X: Any, outputs: NDArray[np.float64]) -> Any:
        """The rows [X, Z]."""
        return side_by_side(X, (outputs - self.output_mean_) / self.output_scale_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        augmented = self._append(X, self.first_estimator_._scores(X))
        scores: NDArray[np.float64] = self.estimator_._scores(augmented)
        return scores

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        confidences: NDArray[np.float64] = self.estimator_._confidences(scores)
        return confidences


def _means(outputs: NDArray[np.float64], row_weights: Any | None) -> NDArray[np.float64]:
    """Mean of each column, in which rows count as often as their weights say."""
    xp = array_namespace(outputs)
    if row_weights is None:
        plain: NDArray[np.float64] = xp.mean(outputs, axis=0)
        return plain
    means: NDArray[np.float64] = (row_weights / xp.sum(row_weights)) @ outputs
    return means


def _deviations(outputs: NDArray[np.float64], row_weights: Any | None) -> NDArray[np.float64]:
    """Standard deviation of each column; one where it is constant but for rounding."""
    xp = array_namespace(outputs)
    if row_weights is None:
        deviations = xp.std(outputs, axis=0)
    else:
        centered = outputs - _means(outputs, row_weights)
        deviations = xp.sqrt(_means(centered * centered, row_weights))
    noise = 1e-12 * xp.max(xp.abs(outputs))
    found: NDArray[np.float64] = xp.where(deviations > noise, deviations, 1.0)
    return found
