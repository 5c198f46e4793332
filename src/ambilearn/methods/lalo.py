"""LALO: latent label distributions with constrained local consistency."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ambilearn._utils.types import RandomState
from ambilearn.backend import Support
from ambilearn.graph.similarity import SimilarityGraph
from ambilearn.kernel.functions import KernelFunction
from ambilearn.methods._alternating import AlternatingClassifier
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.methods._kernel_classifier import RIDGES
from ambilearn.rows import TrainingRows


@insert_shared_docs
class LALO(AlternatingClassifier):
    r"""Partial-label learning with latent label distributions (LALO).

    Learns a kernel classifier and label distributions :math:`P` that are smooth on a fixed neighbor
    graph [1]_:

    .. math:: \min_{f, P}\ \|f(X) - P\|^2 + \lambda \|f\|^2
              + \mu\, \mathrm{tr}\big(P^\top (I - \tilde S) P\big)
              \quad\text{s.t.}\quad P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

    with the candidate mask :math:`Y` and the normalized Gaussian similarities :math:`\tilde S` of
    the *k* nearest neighbors (:mod:`ambilearn.graph.similarity`). It is solved by alternating
    exact sub-problems, so the objective never increases.

    Parameters
    ----------
    mu : float, default=0.005
        Weight :math:`\mu \ge 0` of the smoothness term.
    {rho}
    reg : float, default=0.05
        Ridge weight :math:`\lambda > 0` of the classifier.
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
        The normalized similarities.
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
    PLAGGD : Learns the graph along with the confidences.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). Other implementations
    run about ten iterations. The confidences converge slowly and accuracy still increases after
    that, so the default ``max_iter`` is larger.

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
        neighbors: str | BaseEstimator = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: RandomState = None,
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

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        space = self._space(rows, candidates)
        form = "kernel" if self._pairwise else "features"
        neighbors = rows.neighbors(self.n_neighbors, self.neighbors, form=form)
        graph = SimilarityGraph(neighbors, candidates)
        self.graph_ = graph.similarities

        def propagate(p: NDArray[np.float64], output: NDArray[np.float64]) -> NDArray[np.float64]:
            return graph.smooth(p, output, self.mu, anchor=candidates.pair_weights)

        def penalty(p: NDArray[np.float64]) -> float:
            return self.mu * graph.roughness(p)

        self._alternate(space, candidates, candidates.uniform(), propagate, penalty)
