"""Neighbor search: exact, approximate, or with a scikit-learn neighbors transformer.

Every method that uses neighbors has the parameter ``neighbors``. Exact search compares all pairs of
rows, so its time grows with n². The time of approximate search grows little faster than n, and it
misses some neighbors. Transformers that return the sparse graph of distances to neighbors, such as
:class:`sklearn.neighbors.KNeighborsTransformer`, are also accepted.
"""

from collections.abc import Callable
from importlib.util import find_spec
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.optional import install_command
from ambilearn._utils.sklearn_compat import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from ambilearn._utils.types import Array, Matrix
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import HOST, Backend, choose_backend
from ambilearn.backend.host.neighbors import ROUNDING, pair_distances
from ambilearn.backend.ties import (
    EXTRA_NEIGHBORS,
    in_single,
    nearest_first,
    nearest_places,
    order_by_row,
)
from ambilearn.solvers import Solution


class _Transformer(HasMethods):
    """An instance of a transformer; its class has the same methods but is not valid."""

    def is_satisfied_by(self, val: object) -> bool:
        return not isinstance(val, type) and super().is_satisfied_by(val)

    def __str__(self) -> str:
        return f"{super().__str__()} (pass an instance: KNeighborsTransformer(...))"


NEIGHBOR_COUNTS = (5, 10, 20, 30)  # values of n_neighbors in tuning grids

# Valid values of the parameters that methods with neighbors have.
NEIGHBOR_CONSTRAINTS: dict[str, list[Any]] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "neighbors": [
        StrOptions({"auto", "exact", "approximate"}),
        _Transformer(["fit_transform", "transform"]),
    ],
}

_MAX_PAIRS = 2**28  # limit of row comparisons to resolve ties in the result of a transformer
_MAX_EXACT_ROWS = 50_000  # "auto" searches exactly up to this number of rows
_EXACT_FEATURES = 4  # and up to this number of features, where a tree needs n·log n time
_EXACT_SPEED = 2e10  # approximate number of features that exact search compares per second, 2 cores


def usable_neighbors(n_neighbors: int, n_rows: int) -> int:
    """``n_neighbors``, or n − 1 with a warning if there are not that many other rows."""
    if n_neighbors < n_rows:
        return n_neighbors
    warn_user(
        f"n_neighbors={n_neighbors} but there are only {n_rows} rows: all other rows are "
        "neighbors. Lower n_neighbors, or add rows."
    )
    return n_rows - 1


class Neighbors(NamedTuple):
    """Neighbors of training rows.

    Parameters
    ----------
    indices : array of shape (n, k)
        Nearest first.
    search : NeighborSearch
        Search for the neighbors of new rows; not fitted for a kernel matrix.
    X : array or sparse matrix of shape (n, d)
        The rows that were searched, or the kernel matrix.
    distances : array of shape (n, k), optional
        Distances to the neighbors; None for rows that were scaled to unit length.
    """

    indices: Array
    search: "NeighborSearch"
    X: Matrix
    distances: Matrix = None


def find_neighbors(
    X: Matrix, k: int, neighbors: str | BaseEstimator, form: str, backend: Backend
) -> Neighbors:
    """The k nearest other rows of each row.

    ``form`` is "features", "unit" for rows scaled to unit length, or "kernel" if X is a kernel
    matrix, for distances in its feature space.
    """
    search = NeighborSearch(neighbors)
    if form == "kernel":
        reject_search_in_kernel(neighbors)
        squared = squared_kernel_distances(X)
        indices = nearest_in_matrix(squared, k)
        distances = np.sqrt(np.take_along_axis(squared, indices, axis=1))
        return Neighbors(indices, search, X, distances)
    if form == "unit":
        unit = backend.unit_rows(X)
        return Neighbors(search.fit(unit, k), search, unit)
    indices = search.fit(X, k)
    return Neighbors(indices, search, X, backend.neighbor_distances(X, X, indices))


class NeighborSearch:
    """Search for the nearest rows by Euclidean distance.

    A row is never its own neighbor, but a duplicate of it can be. Ties keep the input order, and
    distances that differ only by rounding are ties (:mod:`ambilearn.backend.ties`).

    Parameters
    ----------
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        Search method. "auto" is exact up to 50 000 rows (or 4 features); above that it is
        approximate if the extra ``ann`` is installed. A transformer is cloned and fitted to the
        rows; the nearest of the neighbors that it returns are used. If its parameter ``metric`` is
        not Euclidean, its own distances decide which are nearest.

    Notes
    -----
    For k neighbors, a transformer searches k + 6: one more because some transformers include the
    row itself, and five to resolve ties for the last neighbor. In the clone, a smaller
    ``n_neighbors`` is raised to this number, a larger one is kept, and both are limited to n − 1.
    Rows with fewer than k neighbors in the result, which a radius can cause, are searched exactly;
    with a metric that is not Euclidean they are an error. Rows whose last neighbor is tied with all
    further results are also searched exactly if the metric is Euclidean and this compares at most
    2²⁸ pairs of rows; otherwise the transformer decides which of the tied rows are neighbors.
    """

    def __init__(self, neighbors: str | BaseEstimator = "auto") -> None:
        validate_parameter_constraints(
            NEIGHBOR_CONSTRAINTS, {"neighbors": neighbors}, type(self).__name__
        )
        self._neighbors = neighbors

    def fit(self, X: Matrix, n_neighbors: int) -> Array:
        """Store the rows to search, and return the neighbors of each row among the others.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows.
        n_neighbors : int
            Number of neighbors, less than n.

        Returns
        -------
        neighbor_indices : ndarray of shape (n, n_neighbors)
            Indices of the neighbors, nearest first.
        """
        self._X, self._n_neighbors = X, n_neighbors
        self._choose()
        if self._transformer is None:
            return self._exact.nearest(None, n_neighbors)
        return self._from_graph(self._transformer.fit_transform(X), None, n_neighbors)

    def _choose(self) -> None:
        """Choose the search method; a transformer is created but not fitted."""
        self.backend = choose_backend(self._X)
        if self.backend is not HOST:
            _reject_search_on_device(self._neighbors)
            self._neighbors = "exact"
        elif self._neighbors == "auto":  # stored, so that a saved search keeps its method
            self._neighbors = _choose_method(self._X)
        self._transformer = _make_transformer(self._neighbors, self._X, self._n_neighbors)
        if self._transformer is None:
            self._exact = self.backend.exact_search(self._X)

    def __getstate__(self) -> dict[str, Any]:
        # Few file formats can store an index, so it is rebuilt.
        return {"neighbors": self._neighbors, "X": self._X, "n_neighbors": self._n_neighbors}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._neighbors, self._X = state["neighbors"], state["X"]
        self._n_neighbors = state["n_neighbors"]
        self._choose()
        if self._transformer is not None:
            self._transformer.fit(self._X)

    def to_device(self, move: Callable[[Any], Any]) -> "NeighborSearch":
        """Same search among rows that ``move`` copies, for instance to a device."""
        other = NeighborSearch.__new__(NeighborSearch)
        other.__setstate__(self.__getstate__() | {"X": move(self._X)})
        return other

    def query(self, queries: Matrix, n_neighbors: int) -> Array:
        """Neighbors of new rows among the rows of :meth:`fit`.

        Parameters
        ----------
        queries : array or sparse matrix of shape (m, d)
            New rows.
        n_neighbors : int
            Number of neighbors, at most n.

        Returns
        -------
        neighbor_indices : ndarray of shape (m, n_neighbors)
            Indices of the neighbors, nearest first.
        """
        if self._transformer is None:
            return self._exact.nearest(queries, n_neighbors)
        return self._from_graph(self._transformer.transform(queries), queries, n_neighbors)

    def _from_graph(self, graph: Matrix, queries: Matrix | None, k: int) -> NDArray[np.intp]:
        """The k nearest neighbors in the sparse graph of distances from a transformer."""
        X = self._X if queries is None else queries
        graph = _checked_graph(graph, (X.shape[0], self._X.shape[0]), self._transformer)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(graph.indptr))
        others, distances = graph.indices.astype(np.intp), graph.data
        if queries is None:  # some transformers include the row itself
            different = rows != others
            rows, others, distances = rows[different], others[different], distances[different]
        if _is_euclidean(self._transformer):
            distances = pair_distances(X, rows, self._X, others)

        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, rows, distances)
        comparable = in_single(distances, largest[rows])
        order = order_by_row(rows, comparable)
        counts = np.bincount(rows, minlength=X.shape[0])
        place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        near = place < k
        neighbor_indices = np.empty((X.shape[0], k), dtype=np.intp)
        neighbor_indices[rows[near], place[near]] = others[order[near]]
        if (short := np.flatnonzero(counts < k)).size:
            self._report_short(X, short, k)
        kth = np.flatnonzero(place == k - 1)
        last = np.cumsum(counts)[rows[kth]] - 1
        tied = comparable[order[kth]] == comparable[order[last]]
        tied &= counts[rows[kth]] < self._X.shape[0] - (queries is None)
        if _is_euclidean(self._transformer) and tied.sum() * self._X.shape[0] <= _MAX_PAIRS:
            short = np.concatenate([short, rows[kth[tied]]])
        if short.size:
            neighbor_indices[short] = self._complete(X, short, queries is None, k)
        return neighbor_indices

    def _report_short(self, X: Matrix, short: NDArray[np.intp], k: int) -> None:
        """Warn about rows with too few neighbors; raise if the metric is not Euclidean."""
        name = type(self._transformer).__name__
        if not _is_euclidean(self._transformer):
            raise ValueError(
                f"{name} found fewer than {k} neighbors for {len(short)} of {X.shape[0]} rows, "
                f"first for row {short[0]}. Raise n_neighbors or radius of {name}, or lower "
                "n_neighbors of the method."
            )
        if len(short) > 0.01 * X.shape[0]:
            warn_user(
                f"{name} found fewer than {k} neighbors for {len(short)} of {X.shape[0]} rows. "
                "These are searched exactly, which compares them with all rows and is slow. Raise "
                f"n_neighbors or radius of {name}."
            )

    def _complete(
        self, X: Matrix, short: NDArray[np.intp], others_only: bool, k: int
    ) -> NDArray[np.intp]:
        """Exact neighbors of rows for which the result of a transformer is not sufficient."""
        if not hasattr(self, "_exact"):
            self._exact = self.backend.exact_search(self._X)
        found: NDArray[np.intp] = self._exact.nearest(X[short], k + others_only)
        if not others_only:
            return found
        # With many duplicates the row itself may be missing; then drop the last neighbor.
        keep = found != short[:, None]
        keep[keep.all(axis=1), -1] = False
        others: NDArray[np.intp] = found[keep].reshape(len(short), k)
        return others


def _make_transformer(neighbors: str | BaseEstimator, X: Matrix, k: int) -> BaseEstimator | None:
    """Unfitted transformer that searches more than k neighbors per row; None for exact search."""
    if neighbors == "exact":
        return None
    if neighbors == "approximate":
        # Imported here because it requires an extra.
        from ambilearn.graph.approximate import ApproximateNeighbors

        if sparse.issparse(X):
            raise ValueError(
                "neighbors='approximate' does not support sparse X. Reduce X first "
                "(sklearn.decomposition.TruncatedSVD), or pass a neighbors transformer that "
                "supports sparse X, such as pynndescent.PyNNDescentTransformer."
            )
        neighbors = ApproximateNeighbors()
    transformer = clone(neighbors)
    if "n_neighbors" in transformer.get_params(deep=False):
        # One more because some transformers include the row itself.
        wanted = max(k + 1 + EXTRA_NEIGHBORS, transformer.n_neighbors)
        transformer.set_params(n_neighbors=min(wanted, X.shape[0] - 1))
    return transformer


def _choose_method(X: Matrix) -> str:
    """Exact if that is fast, else approximate; exact with a warning if that is not available."""
    n, d = X.shape
    if n <= _MAX_EXACT_ROWS or d <= _EXACT_FEATURES:
        return "exact"
    if sparse.issparse(X):
        reason, remedy = "the rows are sparse", "reduce them by TruncatedSVD"
    elif find_spec("faiss") is None:
        reason = "the extra 'ann' is not installed"
        remedy = f"run: {install_command('ann')}"
    else:
        return "approximate"
    minutes = max(1, round(n**2 * d / _EXACT_SPEED / 60))
    warn_user(
        f"The neighbors of {n} rows are searched exactly because {reason}: {n}² comparisons, "
        f"about {minutes} min on two cores. For approximate neighbors in a few minutes {remedy}, "
        "or pass a neighbors transformer. neighbors='exact' silences this warning."
    )
    return "exact"


def _checked_graph(
    graph: Matrix, shape: tuple[int, int], transformer: BaseEstimator
) -> sparse.csr_array:
    """Validate the graph from a transformer, and convert it to CSR with sorted columns."""
    name = type(transformer).__name__
    if not sparse.issparse(graph):
        raise ValueError(
            f"The neighbors transformer {name} must return a sparse matrix of distances, as "
            f"sklearn.neighbors.KNeighborsTransformer does; it returned {type(graph).__name__}."
        )
    if graph.shape != shape:
        raise ValueError(
            f"The neighbors transformer {name} must return a matrix of shape {shape} (query rows, "
            f"fitted rows); it returned shape {graph.shape}."
        )
    check_structure(graph, f"The graph of the neighbors transformer {name}")
    graph = sparse.csr_array(graph, copy=True)
    graph.sum_duplicates()
    return graph


def _is_euclidean(transformer: BaseEstimator) -> bool:
    """Whether a transformer searches the nearest rows by Euclidean distance."""
    params = transformer.get_params(deep=False)
    metric = params.get("metric", "euclidean")
    return metric in ("euclidean", "l2", "sqeuclidean") or (
        metric == "minkowski" and params.get("p", 2) == 2
    )


def reject_search_in_kernel(neighbors: str | BaseEstimator) -> None:
    """Raise if a search method is set: a kernel matrix contains all distances."""
    if neighbors not in ("auto", "exact"):
        raise ValueError(
            "With kernel='precomputed' the neighbors come from the kernel matrix: neighbors must "
            f"be 'auto' or 'exact', not {neighbors!r}."
        )


def _reject_search_on_device(neighbors: str | BaseEstimator) -> None:
    """Raise if a search method other than exact is set: the others run on the CPU."""
    if neighbors not in ("auto", "exact"):
        raise ValueError(
            "On a device the neighbors are searched exactly: neighbors must be 'auto' or 'exact', "
            f"not {neighbors!r}. For other search methods move X to the CPU."
        )


def nearest_in_matrix(distances: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Indices of the k nearest other rows of every row, from an (n, n) matrix of distances."""
    search = NearestNeighbors(metric="precomputed").fit(distances)
    wanted = min(k + EXTRA_NEIGHBORS, len(distances) - 1)
    found = np.sort(search.kneighbors(None, wanted, return_distance=False), axis=1)
    places, tied = nearest_places(np.take_along_axis(distances, found, axis=1), k)
    nearest = np.take_along_axis(found, places, axis=1)
    if wanted < len(distances) - 1:
        for row in np.flatnonzero(tied):
            others = np.delete(np.arange(len(distances)), row)
            nearest[row] = others[nearest_first(distances[row, others][None])[0, :k]]
    return nearest


def squared_kernel_distances(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances in the feature space of a kernel; rounding errors around zero are zero."""
    squares = np.diag(K)
    distances = squares[:, None] + squares - 2 * K
    distances[distances <= ROUNDING * np.abs(squares)[:, None]] = 0.0
    return np.clip(distances, 0, None, out=distances)


def match_sparsity(fitted: Matrix, X: Matrix) -> Matrix:
    """X, converted to sparse or dense as the fitted rows are."""
    if sparse.issparse(X) == sparse.issparse(fitted):
        return X
    return X.toarray() if sparse.issparse(X) else sparse.csr_array(X)


def warn_inexact(solution: Solution[Array], problem: str) -> None:
    """Warn that a solution is not optimal; ``problem`` names the unknowns in the message."""
    warn_user(
        f"The {problem} are not exact: the solver stopped at the step limit (residual "
        f"{solution.residual:.1e} after {solution.steps} steps). Scale the features, or "
        "lower the weight of the graph.",
        ConvergenceWarning,
    )
