"""PLDA: discrimination augmentation, which appends class prototypes to the features."""

from dataclasses import replace
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.rounds import LOOP_CONSTRAINTS, OuterLoop
from ambilearn._utils.sklearn_compat import Interval, StrOptions, _check_feature_names_in
from ambilearn._utils.types import AnyCandidates, Array, Matrix
from ambilearn._utils.warnings import ignoring
from ambilearn.backend import HOST, HostSupport, Support
from ambilearn.backend.host.neighbors import pair_distances, weights_to_csr
from ambilearn.base import PartialLabelClassifier, match_sparsity
from ambilearn.fitting import CandidateEstimator, WeightedRowsMixin
from ambilearn.graph.neighbors import NEIGHBOR_CONSTRAINTS, NEIGHBOR_COUNTS
from ambilearn.graph.similarity import SimilarityGraph
from ambilearn.methods._docs import insert_shared_docs
from ambilearn.methods.plknn import PLKNN
from ambilearn.rows import TrainingRows


class _Parameters(CandidateEstimator):
    """The parameters that the transformer and the method share."""

    _parameter_constraints = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "assignment": [StrOptions({"hard", "soft"})],
        **NEIGHBOR_CONSTRAINTS,
        **LOOP_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        lam: float = 0.01,
        rho: float = 2.0,
        assignment: str = "hard",
        n_neighbors: int = 10,
        neighbors: str | BaseEstimator = "auto",
        max_iter: int = 100,
        tol: float = 1e-3,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.rho = rho
        self.assignment = assignment
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose


@insert_shared_docs
class PLDATransformer(TransformerMixin, _Parameters):
    r"""Discrimination augmentation of features from candidate sets (PLDA).

    Learns class prototypes :math:`c_j` and confidences :math:`F` that are smooth on a fixed
    neighbor graph and large for nearby prototypes [1]_:

    .. math:: \min_{F, C}\ 2\,\mathrm{tr}\big(F^\top (I - \tilde S) F\big)
              + \lambda \sum_{ij} F_{ij} \|x_i - c_j\|^2
              \quad\text{s.t.}\quad F \mathbf 1 = \mathbf 1,\ 0 \le F \le Y

    with the candidate mask :math:`Y` and the normalized Gaussian similarities :math:`\tilde S` of
    the *k* nearest neighbors (:mod:`ambilearn.graph.similarity`). If candidates have weights,
    normalized per row to :math:`\Pi`, the objective has the additional term
    :math:`-\rho \langle F, \Pi \rangle`; equal weights change nothing. A training row is
    transformed to :math:`[x_i;\ \sum_j F_{ij} c_j]`, so rows of the same class become more similar.
    The confidences of a new row are those of its *k* nearest training rows, averaged with
    Gaussian weights.

    Parameters
    ----------
    lam : float, default=0.01
        Weight :math:`\lambda \ge 0` of the distances to the prototypes.
    {rho}
    assignment : {"hard", "soft"}, default="hard"
        Columns appended to a new row: the prototype of its most confident label, as in the
        authors' code, or the mean of the prototypes weighted with its confidences, as for training
        rows.
    {n_neighbors}
    {neighbors}
    {max_iter}
    {tol}
    {verbose}

    Attributes
    ----------
    {classes_}
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences F of the training rows: zero for labels that are not candidates; each row sums
        to one. Sparse if y is a sparse mask.
    {transduction_}
    prototypes_ : ndarray or csr_array of shape (l, d)
        The prototypes; zero for a label that is never a candidate. Sparse if X is sparse.
    {objective_}
    {n_iter_}
    sigma_ : float
        Width of the Gaussian similarities of the training rows, also used for new rows.
    X_fit_ : array or sparse matrix of shape (n, d)
        Training rows.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLDA : This transformer followed by a classifier.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`): :math:`\lambda`
    depends on their scale. Transform training rows with ``fit_transform``, as a
    :class:`~sklearn.pipeline.Pipeline` does: ``fit`` followed by ``transform`` treats them as new
    rows. In the stopping criterion, P is F.

    References
    ----------
    .. [1] Wang, Zhang. Partial label learning with discrimination augmentation. KDD 2022.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from ambilearn import PLCL, PLDATransformer
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> augment = PLDATransformer(n_neighbors=2)
    >>> augment.fit_transform(X, y)[1].round(1)
    array([1.1, 0. , 0.9, 0.2])
    >>> model = make_pipeline(augment, PLCL(n_neighbors=2)).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    """

    def fit(self, X: Matrix, y: AnyCandidates) -> Self:
        """Learn confidences and prototypes.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Training rows.
        y : sequence of label collections, mask of shape (n, l), or labels of shape (n,)
            Candidate sets; see :func:`ambilearn.candidates.as_candidates`.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        return self._check_and_fit(X, y, None)

    def fit_transform(self, X: Matrix, y: AnyCandidates) -> Matrix:
        """Fit, and append to each training row the mean prototype weighted with its confidences.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Training rows.
        y : sequence of label collections, mask of shape (n, l), or labels of shape (n,)
            Candidate sets; see :func:`ambilearn.candidates.as_candidates`.

        Returns
        -------
        augmented : ndarray or csr_array of shape (n, 2d)
        """
        return self.fit(X, y)._augmented_rows()

    def transform(self, X: Matrix) -> Matrix:
        """Append a prototype to each new row.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (m, d)
            Rows.

        Returns
        -------
        augmented : ndarray or csr_array of shape (m, 2d)
            Sparse if the training rows are sparse.
        """
        check_is_fitted(self)
        return self._augment_new(self._validate_rows(X, reset=False))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Names of the augmented features: those of X, then those with prefix ``prototype_``.

        Parameters
        ----------
        input_features : array-like of str of shape (d,), optional
            Names of the features. The default is the names seen in ``fit``, or ``x0, x1, …``.

        Returns
        -------
        names : ndarray of str of shape (2d,)
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.concatenate([names, [f"prototype_{name}" for name in names]]).astype(object)

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        candidates = HostSupport(candidates.sets, HOST)
        X, neighbors = rows.X, rows.neighbors(self.n_neighbors, self.neighbors)
        graph = SimilarityGraph(neighbors, candidates)

        f = candidates.uniform()
        C = _prototypes(X, candidates, f)
        cost = self._cost(X, candidates, C)
        loop = OuterLoop(self)
        while loop.should_continue():
            previous = f
            f = graph.smooth(f, target=None, weight=2.0, cost=cost)
            C = _prototypes(X, candidates, f)
            cost = self._cost(X, candidates, C)
            objective = 2 * graph.roughness(f) + cost @ f
            loop.record(f, previous, candidates.n_rows, float(objective))

        self.label_distributions_ = candidates.as_output(f)
        self.prototypes_ = C
        self._search = neighbors.search
        self.sigma_ = graph.sigma
        self.X_fit_ = X
        self.n_iter_, self.objective_ = loop.n_iter, loop.history

    def _cost(self, X: Matrix, candidates: HostSupport, C: Matrix) -> NDArray[np.float64]:
        r"""Linear cost of every candidate: :math:`\lambda \|x_i - c_j\|^2 - \rho \Pi_{ij}`."""
        distances = pair_distances(X, candidates.rows, C, candidates.labels)
        return self.lam * distances**2 - self.rho * candidates.preference()

    def _augment_new(self, X: Matrix) -> Matrix:
        X = match_sparsity(self.X_fit_, X)
        k = min(self.n_neighbors, self.X_fit_.shape[0])
        neighbor_indices = self._search.query(X, k)
        squared = HOST.neighbor_distances(X, self.X_fit_, neighbor_indices) ** 2
        # Only the ratios matter; the shift keeps the weight of the nearest neighbor from
        # underflowing to zero.
        closeness = np.exp((squared.min(axis=1, keepdims=True) - squared) / self.sigma_**2)
        weights = closeness / closeness.sum(axis=1, keepdims=True)
        graph = weights_to_csr(neighbor_indices, weights, self.X_fit_.shape[0])
        confidences = graph @ self.label_distributions_
        if self.assignment == "hard":
            return _append(X, self.prototypes_[confidences.argmax(axis=1)])
        return self._append_means(X, sparse.csr_array(confidences))

    def _augmented_rows(self) -> Matrix:
        """The training rows with the mean prototype of each."""
        return self._append_means(self.X_fit_, sparse.csr_array(self.label_distributions_))

    def _append_means(self, X: Matrix, confidences: sparse.csr_array) -> Matrix:
        """Append the mean of the prototypes, weighted with the confidences of each row."""
        return _append(X, confidences @ self.prototypes_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@insert_shared_docs
class PLDA(WeightedRowsMixin, PartialLabelClassifier, _Parameters):
    r"""Discrimination augmentation followed by a classifier (PLDA).

    :class:`PLDATransformer` appends class prototypes to the features, and PL-KNN is fitted to the
    augmented rows and the same candidate sets, as in the comparison of the PL-CL paper. For another
    classifier, use a pipeline: ``make_pipeline(PLDATransformer(), PLCL())``.

    Parameters
    ----------
    lam : float, default=0.01
        Weight :math:`\lambda \ge 0` of the distances to the prototypes.
    {rho}
    assignment : {"hard", "soft"}, default="hard"
        Columns appended to a new row: the prototype of its most confident label, or the mean of
        the prototypes weighted with its confidences.
    {n_neighbors}
    {neighbors}
    {max_iter}
    {tol}
    {verbose}

    Attributes
    ----------
    {classes_}
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences F of the training rows from the augmentation; ``estimator_`` has those of the
        classifier.
    {transduction_}
    transformer_ : PLDATransformer
        The fitted transformer.
    estimator_ : PLKNN
        The classifier fitted to the augmented rows.
    {objective_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLDATransformer : Only the augmentation, for use in a pipeline.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). The PL-CL paper calls
    PLDA a dimensionality reduction, but the method it cites appends features [1]_.
    ``sample_weight`` is passed to the classifier. The augmentation and ``label_distributions_`` do
    not depend on it. ``objective_``, ``n_iter_`` and the stopping criterion are those of the
    transformer.

    References
    ----------
    .. [1] Wang, Zhang. Partial label learning with discrimination augmentation. KDD 2022.

    Examples
    --------
    >>> from ambilearn import PLDA
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> model = PLDA(n_neighbors=2).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = _Parameters._parameter_constraints
    _tuning_grid = {"lam": (0.001, 0.01, 0.1, 1.0), "n_neighbors": NEIGHBOR_COUNTS}

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        sets, unweighted = candidates.sets, replace(candidates.sets, row_weights=None)
        augment = PLDATransformer(**self.get_params(deep=False))
        self.transformer_ = augment._fit_rows(rows, unweighted)
        learner = PLKNN(n_neighbors=self.n_neighbors, neighbors=self.neighbors)
        # The transformer has issued the warning about n_neighbors already.
        with ignoring(UserWarning):
            self.estimator_ = learner._fit_rows(TrainingRows(augment._augmented_rows()), sets)
        self.label_distributions_ = augment.label_distributions_
        self.n_iter_, self.objective_ = augment.n_iter_, augment.objective_

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        return self.estimator_._checked_scores(self.transformer_._augment_new(X))

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.estimator_._confidences(scores)


def _prototypes(X: Matrix, candidates: HostSupport, f: NDArray[np.float64]) -> Matrix:
    r"""Mean row of every label, :math:`c_j = \sum_i F_{ij} x_i / \sum_i F_{ij}`.

    The row of a label with zero total confidence is zero.
    """
    mass = candidates.label_sums(f)
    scale = sparse.diags_array(1 / np.where(mass > 0, mass, 1.0))
    prototypes = scale @ (candidates.to_csr(f).T @ X)
    return prototypes.tocsr() if sparse.issparse(prototypes) else prototypes


def _append(X: Matrix, columns: Matrix) -> Matrix:
    if sparse.issparse(X):
        return sparse.hstack([X, columns]).tocsr()
    return np.hstack([X, columns])
