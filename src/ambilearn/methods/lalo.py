"""LALO: latent label distributions with constrained local consistency."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.sklearn_compat import Interval
from ambilearn.backend import Support
from ambilearn.graph.neighbors import NEIGHBORS_CONSTRAINT
from ambilearn.graph.similarity import SimilarityGraph
from ambilearn.kernel.functions import KernelFunction
from ambilearn.methods._alternating import AlternatingClassifier
from ambilearn.methods._tuning import RIDGES


class LALO(AlternatingClassifier):
    r"""Partial-label learning with latent label distributions (LALO).

    A kernel classifier learns label distributions :math:`P` that are to vary slowly along a fixed
    neighbor graph [1]_:

    .. math:: \min_{f, P}\ \|f(X) - P\|^2 + \lambda \|f\|^2
              + \mu\, \mathrm{tr}\big(P^\top (I - \tilde S) P\big)
              \quad\text{s.t.}\quad P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

    with the candidate mask :math:`Y` and the normalized Gaussian similarities :math:`\tilde S` of
    the *k* nearest neighbors (:mod:`ambilearn.graph.similarity`). It is solved by alternating
    exact sub-problems, so the objective never rises.

    Parameters
    ----------
    mu : float, default=0.005
        Weight :math:`\mu \ge 0` of the smoothness.
    rho : float, default=2.0
        Weight :math:`\rho \ge 0` of the candidates' own weights, where y has any.
    reg : float, default=0.05
        Ridge weight :math:`\lambda > 0` of the classifier.
    kernel : {"rbf", "linear", "precomputed"} or callable, default="rbf"
        Kernel of the classifier, as in :class:`~ambilearn.methods.plcl.PLCL`. With "precomputed"
        the graph is built in the kernel's feature space, otherwise on the features.
    sigma : "mean" or float, default="mean"
        Bandwidth of the Gaussian kernel: a number, or the mean pairwise distance of the training
        rows.
    n_neighbors : int, default=10
        Neighbors *k* in the graph. Fewer are used, with a warning, when there are not that many
        rows.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How neighbors are searched. "auto" is exact up to 50 000 rows, and approximate above if
        the extra ``ann`` is installed. Any scikit-learn neighbors transformer will do, such as
        :class:`sklearn.neighbors.KNeighborsTransformer`; see
        :class:`~ambilearn.graph.neighbors.NeighborSearch`.
    n_landmarks : int, optional
        Number of landmarks of a low-rank kernel [2]_: time and memory then grow with
        n·n_landmarks, not n³ and n². None, the default, is the exact kernel. A linear kernel
        needs none.
    landmarks : {"kmeans", "uniform"}, default="kmeans"
        Landmarks are centers of k-means, or rows drawn at random.
    max_iter : int, default=100
        Limit of outer iterations.
    tol : float, default=1e-3
        The loop ends when P changes by at most this, :math:`\|P_t - P_{t-1}\|_F / \sqrt n`.
        With 0 it runs ``max_iter`` iterations and never warns.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.
    verbose : int, default=0
        Print a line per outer iteration.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in the order of the columns below.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences P of the training rows: zero off the candidates, rows sum to one.
    transduction_ : ndarray of shape (n,)
        Disambiguated label of each training row: the candidate of largest confidence.
    graph_ : csr_array of shape (n, n)
        The normalized similarities.
    train_output_ : ndarray or csr_array of shape (n, l)
        Outputs of the classifier on the training rows.
    objective_ : ndarray of shape (n_iter_,)
        The objective after each outer iteration.
    n_iter_ : int
        Outer iterations done.
    sigma_, coef_, dual_coef_, intercept_, X_fit_
        The classifier, as in :class:`~ambilearn.methods.plcl.PLCL`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X was a data frame with string column names.

    See Also
    --------
    PLAGGD : Learns the graph along with the confidences.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). The confidences
    move slowly and accuracy still rises after the ten or so rounds that are customary, so the
    default is to run until they stand still.

    References
    ----------
    .. [1] Feng, An. Leveraging latent label distributions for partial label learning. IJCAI 2018.
    .. [2] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.

    Examples
    --------
    >>> from ambilearn import LALO
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = LALO(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        **AlternatingClassifier._parameter_constraints,
        "mu": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "neighbors": NEIGHBORS_CONSTRAINT,
    }
    _tuning_grid = {"mu": (0.001, 0.005, 0.05, 0.5), "reg": RIDGES}

    def __init__(
        self,
        *,
        mu: float = 0.005,
        rho: float = 2.0,
        reg: float = 0.05,
        kernel: str | KernelFunction = "rbf",
        sigma: str | float = "mean",
        n_neighbors: int = 10,
        neighbors: Any = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.mu = mu
        self.rho = rho
        self.reg = reg
        self.kernel = kernel
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, candidates: Support, cache: FitCache) -> None:
        graph = SimilarityGraph(
            X,
            candidates,
            self.n_neighbors,
            precomputed=self._pairwise,
            neighbors=self.neighbors,
        )
        self.graph_ = graph.similarities

        def propagate(p: NDArray[np.float64], output: NDArray[np.float64]) -> NDArray[np.float64]:
            return graph.smooth(p, output, self.mu, anchor=candidates.pair_weights)

        def penalty(p: NDArray[np.float64]) -> float:
            return self.mu * graph.roughness(p)

        self._alternate(X, candidates, cache, candidates.uniform(), propagate, penalty)
