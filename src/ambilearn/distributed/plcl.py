"""PL-CL on rows that are distributed over several machines."""

from numbers import Integral
from typing import Self

import dask
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.rounds import OuterLoop
from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.types import AnyCandidates, Estimator, Matrix, Params, RandomState
from ambilearn.distributed import rounds
from ambilearn.distributed.blocks import Parts, RowBlocks, persist_now
from ambilearn.distributed.partitions import partition_rows, restore_blocks
from ambilearn.distributed.results import RowResults, predict_blocks, score_blocks
from ambilearn.fitting import forget_fit, unfitted_on_error
from ambilearn.graph.neighbors import usable_neighbors
from ambilearn.kernel import LANDMARKS_CONSTRAINT
from ambilearn.kernel.functions import KernelFunction
from ambilearn.kernel.landmarks import LandmarkFeatures, landmark_features, sample_limit
from ambilearn.kernel.primal import Moments, PrimalRidge
from ambilearn.kernel.ridge import RidgeFit
from ambilearn.methods.plcl import PLCL, PLCLWeights, classifier_terms

_ROW_RESULTS = ("label_distributions_", "complementary_distributions_", "transduction_")


class DistributedPLCL(PLCL):
    r"""PL-CL on Dask collections: rows on many workers, or more rows than fit in memory.

    The rows are moved to partitions of neighbors (cells of k-means). Confidences P and Q and the
    graph W are local to a partition: neighbors in other partitions are ignored. Both classifiers
    are global: in every iteration each partition computes its sums :math:`\Phi^\top P` and
    :math:`\Phi^\top Q`, one m×m system is solved for each classifier, and the coefficients are sent
    back. With one partition, the result is that of :class:`~ambilearn.PLCL` with the same number of
    landmarks.

    Computation runs on the cluster of the current :class:`distributed.Client`, which is the one
    created last, or in threads if there is none. To use another client, call ``fit`` inside
    ``with client.as_current():``, and also compute its results there, because they stay on that
    cluster. If a worker is lost during the fit, Dask recomputes its results.

    Parameters
    ----------
    alpha, beta, gamma, mu, rho, reg, n_neighbors, kernel, sigma
        As in :class:`~ambilearn.PLCL`; the kernel cannot be "precomputed".
    n_landmarks : int, default=500
        Number m of landmarks of the low-rank kernel. A linear kernel needs none.
    landmarks, random_state, neighbors, complementary, graph, max_iter, tol, verbose
        As in :class:`~ambilearn.PLCL`. The seed is also that of the partitions.
    n_partitions : int, optional
        Approximate number of partitions; the default is the number of blocks of X. Very small
        partitions are merged, and very large ones are split.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    label_distributions_ : dask array of shape (n, l)
        Confidences P of the training rows, in the order and blocks of X. Like all results with n
        rows, it stays on the cluster until it is computed or stored, and it is not pickled with the
        model. Blocks are sparse if y is a sparse mask; dense blocks are created lazily.
    complementary_distributions_ : dask array of shape (n, l)
        Confidences Q. Only with ``complementary``.
    transduction_ : dask array of shape (n,)
        Disambiguated label of every training row.
    partition_sizes_ : ndarray of shape (n_partitions,)
        Number of rows of each partition.
    objective_, n_iter_, sigma_, coef_, dual_coef_, intercept_, X_fit_
        As in :class:`~ambilearn.PLCL`, with ``X_fit_`` the landmarks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ambilearn.PLCL : The same method in one process.

    Notes
    -----
    The calling process stores the sums, factors and coefficients (m×m and m×l), samples of at most
    max(5000, 50·m, 100·n_partitions) rows, and the number of rows of each block in each partition,
    but never X, the features or P. The workers together store 8·(m + k²) bytes per row for features
    and graph, and a few hundred bytes for its candidate pairs; Dask spills to disk if this exceeds
    their memory.

    X is read six times before the first iteration (checks, samples for bandwidth, landmarks and
    partitions, sizes of the partitions, exchange of rows): call ``X.persist()`` first if it fits
    in memory. The exchange has at most one task per pair of block and partition, so a few hundred
    large blocks are better than many small ones. A worker holds several copies of a block or
    partition at a time: each should be at most 5 % of its memory.

    Unlike :class:`~ambilearn.PLCL`, it has no ``graph_`` (the graph is released with its partition,
    and in the order of X its rows would refer to all blocks), no ``train_output_``
    (``decision_function(X)`` is the same, and lazy) and no ``complementary_train_output_`` (only
    the ordinary classifier predicts and is stored).

    If a sub-problem does not converge, the worker logs a warning.

    Examples
    --------
    >>> import dask.array as da
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> from ambilearn.distributed import DistributedPLCL
    >>> data = load_dataset("iris")
    >>> sets, _ = make_candidates(data.y, p=0.5, random_state=0)
    >>> X = da.from_array(data.X, chunks=(50, 4))
    >>> y = da.from_array(sets.to_mask(), chunks=(50, 3))
    >>> model = DistributedPLCL(n_landmarks=30, n_partitions=2, random_state=0).fit(X, y)
    >>> model.label_distributions_.shape, model.label_distributions_.chunks[0]
    ((150, 3), (50, 50, 50))
    >>> model.predict(X)[:3].compute()
    array([0, 0, 0])
    """

    n_landmarks: int  # never None: distributed rows have no kernel matrix
    # Arrays of Dask.
    transduction_: Matrix
    label_distributions_: Matrix
    complementary_distributions_: Matrix

    _parameter_constraints = {
        **PLCL._parameter_constraints,
        "n_landmarks": [LANDMARKS_CONSTRAINT],
        "n_partitions": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        beta: float = 0.5,
        gamma: float = 1.0,
        mu: float = 1.0,
        rho: float = 2.0,
        complementary: bool = True,
        graph: bool = True,
        reg: float = 0.03,
        kernel: str | KernelFunction = "rbf",
        sigma: str | float = "mean",
        n_neighbors: int = 10,
        neighbors: str | Estimator = "auto",
        n_landmarks: int = 500,
        landmarks: str = "kmeans",
        n_partitions: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            mu=mu,
            rho=rho,
            complementary=complementary,
            graph=graph,
            reg=reg,
            kernel=kernel,
            sigma=sigma,
            n_neighbors=n_neighbors,
            neighbors=neighbors,
            n_landmarks=n_landmarks,
            landmarks=landmarks,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_partitions = n_partitions

    def fit(self, X: Matrix, y: AnyCandidates, sample_weight: Matrix | None = None) -> Self:
        """Learn a classifier from candidate sets.

        Parameters
        ----------
        X : dask array or data frame of shape (n, d), or list of delayed blocks
            Training rows. Blocks can be sparse and of unknown size.
        y : dask array, series, data frame or bag, or list of delayed blocks
            Candidate sets in any form that :func:`ambilearn.candidates.as_candidates` accepts: a
            mask of shape (n, l), dense or sparse, or collections of labels. Split text such as
            "anna|bob" first: ``frame["names"].str.split("|")``.
        sample_weight : array-like or dask array of shape (n,), optional
            Weight of each row in the errors of the classifiers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        if self._pairwise:
            raise ValueError(
                "kernel='precomputed' is not supported by DistributedPLCL: use 'rbf', 'linear' or "
                "a callable, or fit the local PLCL."
            )
        data = RowBlocks(X, y, sample_weight)
        with unfitted_on_error(self):
            forget_fit(self)
            self._set_feature_names(X, data.shape[1])
            self.classes_ = data.classes
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
                self._fit_blocks(data)  # sends m×l coefficients in every iteration
        return self

    def _fit_blocks(self, data: RowBlocks) -> None:
        # Algorithm 1 of the paper on distributed rows: an iteration sends the coefficients of both
        # classifiers to the workers, and receives the sums for the next coefficients.
        weights = PLCLWeights.of(self)
        low_rank = self._choose_features(data)
        partitions, counts = self._build_partitions(data, low_rank)
        parts = [delayed(rounds.moments)(part) for part in partitions]
        moments: Moments = rounds.tree_sum(parts, rounds.add_moments).compute()
        ridges = (self.reg, self.reg / self.alpha) if self.complementary else (self.reg,)
        solvers = [PrimalRidge(moments, ridge) for ridge in ridges]

        states = persist_now(delayed(rounds.start)(part, weights) for part in partitions)
        _, _, *targets = self._sums(partitions, states)
        loop = OuterLoop(self)
        while loop.should_continue():
            pairs = zip(targets[::2], targets[1::2], strict=True)
            fits = [solver.solve(*pair) for solver, pair in zip(solvers, pairs, strict=True)]
            sent = delayed(fits, traverse=False)  # one task instead of a copy per partition
            following = dask.persist(
                *(
                    delayed(rounds.advance)(part, state, sent, weights)
                    for part, state in zip(partitions, states, strict=True)
                )
            )
            objective, squared_change, *targets = self._sums(partitions, following)
            states = following  # only now: the new states are computed from the old ones
            objective += _global_terms(weights, fits)
            loop.record_change((squared_change / data.shape[0]) ** 0.5, objective)

        self.n_iter_, self.objective_ = loop.n_iter, np.array(loop.objective)
        self.partition_sizes_ = counts.sum(axis=0)
        self._keep_coefficients(fits[0], low_rank)
        outcomes = [
            delayed(rounds.outcome)(part, state)
            for part, state in zip(partitions, states, strict=True)
        ]
        results = RowResults(restore_blocks(outcomes, counts, data.starts), data)
        self.label_distributions_ = results.distributions(0)
        self.transduction_ = results.transduction()
        if self.complementary:
            self.complementary_distributions_ = results.distributions(1, off_support=1.0)

    def _choose_features(self, data: RowBlocks) -> LandmarkFeatures | None:
        """Map from rows to low-rank features, from the same sample as in a local fit."""
        self.sigma_ = None
        if self.kernel == "linear":
            return None
        n = data.shape[0]
        rows = data if n > sample_limit(self.n_landmarks) else data[np.arange(n)]
        how = self.n_landmarks, self.kernel, self.sigma, self.landmarks, self.random_state
        low_rank = landmark_features(rows, *how, data.row_weights)
        self.sigma_ = low_rank.sigma
        return low_rank

    def _build_partitions(
        self, data: RowBlocks, low_rank: LandmarkFeatures | None
    ) -> tuple[tuple[Delayed, ...], NDArray[np.intp]]:
        n_neighbors = usable_neighbors(self.n_neighbors, data.shape[0]) if self.graph else None
        wanted = self.n_partitions or sum(np.diff(data.starts) > 0)
        partitioning = partition_rows(data, wanted, n_neighbors or 1, self.random_state)
        classes, features, neighbors = (
            delayed(each, traverse=False) for each in (data.classes, low_rank, self.neighbors)
        )
        partitions = (
            delayed(rounds.build)(part, classes, features, n_neighbors, neighbors)
            for part in partitioning.rows
        )
        return persist_now(partitions), partitioning.counts

    def _sums(self, partitions: Parts, states: Parts) -> Parts:
        parts = [
            delayed(rounds.contribute)(part, state, self.complementary)
            for part, state in zip(partitions, states, strict=True)
        ]
        return rounds.tree_sum(parts).compute()

    def _keep_coefficients(self, fit: RidgeFit, low_rank: LandmarkFeatures | None) -> None:
        self.intercept_ = fit.intercept
        if low_rank is None:
            self.coef_ = fit.coef.T
        else:
            self.dual_coef_, self.X_fit_ = low_rank.whitening @ fit.coef, low_rank.landmarks

    def _set_feature_names(self, X: Matrix, n_features: int) -> None:
        self.n_features_in_ = n_features
        names = list(getattr(X, "columns", ()))
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def to_local(self) -> PLCL:
        """Fitted classifier as a :class:`~ambilearn.PLCL`, for deployment without Dask.

        Returns
        -------
        model : PLCL
            Fitted classifier, without the results for the training rows.
        """
        check_is_fitted(self)
        params = self.get_params(deep=False)
        del params["n_partitions"]
        local = PLCL(**params)
        for name, value in vars(self).items():
            if name.endswith("_") and name not in (*_ROW_RESULTS, "partition_sizes_"):
                setattr(local, name, value)
        return local

    def decision_function(self, X: Matrix) -> Matrix:
        """Score of every label, as :meth:`PLCL.decision_function`; lazy for Dask collections."""
        two = len(getattr(self, "classes_", ())) == 2
        return self._blockwise("decision_function", X, vector=two)

    def predict(self, X: Matrix) -> Matrix:
        """Most likely label of every row, as :meth:`PLCL.predict`; lazy for Dask collections."""
        return self._blockwise("predict", X, vector=True)

    def predict_proba(self, X: Matrix) -> Matrix:
        """Confidence of every label, as :meth:`PLCL.predict_proba`; lazy for Dask collections."""
        return self._blockwise("predict_proba", X, vector=False)

    def _blockwise(self, method: str, X: Matrix, vector: bool) -> Matrix:
        model = self.to_local()
        if not dask.is_dask_collection(X):
            return getattr(model, method)(X)
        empty = self.classes_[:0] if method == "predict" else np.empty(0)
        return predict_blocks(model, method, X, empty if vector else empty[:, None])

    def score(self, X: Matrix, y: AnyCandidates, sample_weight: Matrix | None = None) -> float:
        """Fraction of rows with a correct predicted label, as :meth:`PLCL.score`.

        Parameters
        ----------
        X, y
            As in :meth:`fit`; y has true labels or candidate sets. Collections must have the same
            blocks.
        sample_weight : array-like or dask array of shape (n,), optional
            Weight of each row.

        Returns
        -------
        score : float
        """
        model = self.to_local()
        if not dask.is_dask_collection(X):
            return model.score(X, y, sample_weight)
        return score_blocks(model, X, y, sample_weight)

    def __getstate__(self) -> Params:
        return {k: v for k, v in super().__getstate__().items() if k not in _ROW_RESULTS}


def _global_terms(weights: PLCLWeights, fits: list[RidgeFit]) -> float:
    """The part of the classifiers' terms that depends only on sums over all rows."""
    nothing, (f, *others) = np.empty(0), fits
    f_hat = others[0] if others else None
    return classifier_terms(weights, f, nothing, f_hat, nothing)
