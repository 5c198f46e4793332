"""PL-AGGD: adaptive graph guided disambiguation."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ambilearn._utils.types import RandomState
from ambilearn.backend import Support
from ambilearn.graph.neighbors import NEIGHBOR_COUNTS
from ambilearn.kernel.functions import KernelFunction
from ambilearn.methods._alternating import AlternatingClassifier
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.methods._kernel_classifier import RIDGES, WEIGHTS
from ambilearn.rows import TrainingRows


@insert_shared_docs
class PLAGGD(AlternatingClassifier):
    r"""Adaptive graph guided disambiguation (PL-AGGD).

    Learns a kernel classifier, the confidences :math:`P`, and a neighbor graph :math:`W` that
    reconstructs both features and confidences [1]_:

    .. math::
        \min_{f, P, W}\ & \|f(X) - P\|^2 + \lambda \|f\|^2
        + \mu \|P - WP\|^2 + \gamma \|X - WX\|^2 \\
        \text{s.t.}\ & P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y,\quad
        W\mathbf 1 = \mathbf 1,\ 0 \le W \le U

    with the candidate mask :math:`Y` and the mask :math:`U` of the *k* nearest neighbors. This is
    PL-CL without its complementary classifier. The notation is that of PL-CL: in [1]_,
    :math:`\gamma` is the ridge weight and :math:`\lambda` the weight of the features.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight :math:`\gamma \ge 0` (:math:`\lambda` in [1]_) of reconstructing the features from
        the neighbors.
    mu : float, default=1.0
        Weight :math:`\mu \ge 0` of reconstructing the confidences from the neighbors.
    {rho}
    reg : float, default=0.05
        Ridge weight :math:`\lambda > 0` (:math:`\gamma` in [1]_) of the classifier.
    {kernel}
    {sigma}
    {n_neighbors}
    {neighbors}
    {n_landmarks}
    {landmarks}
    {max_iter}
    {tol}
    {random_state}
    {verbose}

    Attributes
    ----------
    {classes_}
    {label_distributions_}
    {transduction_}
    graph_ : csr_array of shape (n, n)
        The graph W; row i has the weights that reconstruct training row i.
    {train_output_}
    {objective_}
    {n_iter_}
    {sigma_}
    {coef_}
    {dual_coef_}
    {intercept_}
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLCL : Adds a classifier for the labels that are not candidates.
    LALO : Uses a fixed graph.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). As in the authors'
    code, the graph is built on rows scaled to unit length, and the classifier has a bias, which the
    paper omits.

    References
    ----------
    .. [1] Wang, Zhang, Li. Adaptive graph guided disambiguation for partial label learning. IEEE
       Trans. Pattern Analysis and Machine Intelligence 44(12), 8796-8811, 2022.
    .. [2] Williams, Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.

    Examples
    --------
    >>> from ambilearn import PLAGGD
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = PLAGGD(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _tuning_grid = {
        "gamma": WEIGHTS,
        "mu": WEIGHTS,
        "reg": RIDGES,
        "n_neighbors": NEIGHBOR_COUNTS,
    }

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        mu: float = 1.0,
        rho: float = 2.0,
        reg: float = 0.05,
        kernel: str | KernelFunction = "rbf",
        sigma: str | float = "mean",
        n_neighbors: int = 10,
        neighbors: str | BaseEstimator = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        max_iter: int = 20,
        tol: float = 1e-3,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
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

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        space = self._space(rows, candidates)
        graph, start = rows.adaptive_graph(
            candidates, self.n_neighbors, self.neighbors, of_kernel=self._pairwise
        )

        def disambiguate(
            p: NDArray[np.float64], output: NDArray[np.float64]
        ) -> NDArray[np.float64]:
            nonlocal graph
            graph = graph.refit(self.gamma, self.mu, p)
            return graph.smooth(p, output, self.mu, anchor=candidates.pair_weights)

        def penalty(p: NDArray[np.float64]) -> float:
            return self.mu * graph.label_roughness(p) + self.gamma * graph.feature_roughness()

        self._alternate(space, candidates, start, disambiguate, penalty)
        self.graph_ = graph.output()
