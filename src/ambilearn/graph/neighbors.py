"""Who the neighbors are: exact, approximate, or as a scikit-learn neighbors transformer says.

Every method that has a graph or asks neighbors takes the parameter ``neighbors``. Exact search
compares all pairs of rows, so its time grows with n²; approximate search grows little faster than
n and misses a few neighbors. Any transformer that gives the sparse graph of distances to
neighbors, as :class:`sklearn.neighbors.KNeighborsTransformer` does, may be passed instead.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from ambilearn._utils.optional import install_command
from ambilearn._utils.sklearn_compat import HasMethods, StrOptions, validate_parameter_constraints
from ambilearn._utils.structure import check_structure
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import HOST, choose_backend
from ambilearn.backend.host.neighbors import pair_distances
from ambilearn.backend.ties import EXTRA_NEIGHBORS, in_single, nearest_first, nearest_places
from ambilearn.solvers import Solution


class _Transformer(HasMethods):
    """A transformer, not the class of one, which has the same methods."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, type) and super().is_satisfied_by(val)

    def __str__(self) -> str:
        return f"{super().__str__()} (pass an instance: KNeighborsTransformer(...))"


NEIGHBOR_COUNTS = (5, 10, 20, 30)  # values of n_neighbors in tuning grids

# Valid values of the parameter ``neighbors``.
NEIGHBORS_CONSTRAINT: list[Any] = [
    StrOptions({"auto", "exact", "approximate"}),
    _Transformer(["fit_transform", "transform"]),
]

_MAX_PAIRS = 2**28  # rows compared at most to settle ties that a transformer leaves open
_MAX_EXACT_ROWS = 50_000  # "auto" searches exactly up to here
_EXACT_FEATURES = 4  # and on so few features, where a tree finds the neighbors in n·log n
_EXACT_SPEED = 2e10  # features compared in a second by exact search, roughly, on two cores


def usable_neighbors(n_neighbors: int, n_rows: int) -> int:
    """``n_neighbors``, or n − 1 with a warning where there are not that many other rows."""
    if n_neighbors < n_rows:
        return n_neighbors
    warn_user(
        f"n_neighbors={n_neighbors} but there are only {n_rows} rows: "
        f"all {n_rows - 1} other rows are the neighbors of each. Lower n_neighbors, or add rows."
    )
    return n_rows - 1


class NeighborSearch:
    """Finds the nearest rows, by Euclidean distance.

    A row is never its own neighbor; a duplicate of it may be. At equal distance the row with the
    lower number is nearer, and distances that differ only by rounding are equal
    (:mod:`ambilearn.backend.ties`).

    Parameters
    ----------
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How to search. "auto" is exact up to 50 000 rows (or on up to 4 features), and approximate
        above, if the extra ``ann`` is installed. A transformer is cloned and fitted to the rows;
        it proposes neighbors, of which the nearest are taken. If its parameter ``metric`` is not
        Euclidean, they are the nearest by its own distances.

    Notes
    -----
    For k neighbors a transformer is asked for k + 6: one more for the row itself, which some
    count, and five to settle ties for the last place. Its own ``n_neighbors`` is raised to that
    (in the clone) where it is smaller, left where it is larger, and lowered to n − 1 where there
    are not as many other rows. Rows for which it finds fewer than k all the same, as a radius may,
    are searched exactly; with a metric that is not Euclidean that is an error. Rows whose last
    neighbor is tied with all further proposals are searched exactly, too, if the metric is
    Euclidean and that compares at most 2²⁸ pairs of rows; otherwise the transformer decides which
    of the tied rows it proposes.
    """

    def __init__(self, neighbors: Any = "auto") -> None:
        validate_parameter_constraints(
            {"neighbors": NEIGHBORS_CONSTRAINT}, {"neighbors": neighbors}, type(self).__name__
        )
        self._neighbors = neighbors

    def fit(self, X: Any, n_neighbors: int) -> Any:
        """Search among these rows, now and later, and give each row's neighbors among the others.

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
        """Choose how to search among the rows; a transformer is not fitted yet."""
        self.backend = choose_backend(self._X)
        if self.backend is not HOST:
            _refuse_search_on_device(self._neighbors)
            self._neighbors = "exact"
        elif self._neighbors == "auto":  # chosen once: a saved search is built again as it was
            self._neighbors = _sensible_choice(self._X)
        self._transformer = _make_transformer(self._neighbors, self._X, self._n_neighbors)
        if self._transformer is None:
            self._exact = self.backend.exact_search(self._X)

    def __getstate__(self) -> dict[str, Any]:
        # Few formats can hold an index: it is built again.
        return {"neighbors": self._neighbors, "X": self._X, "n_neighbors": self._n_neighbors}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._neighbors, self._X = state["neighbors"], state["X"]
        self._n_neighbors = state["n_neighbors"]
        self._choose()
        if self._transformer is not None:
            self._transformer.fit(self._X)

    def to_device(self, move: Callable[[Any], Any]) -> "NeighborSearch":
        """The same search among rows that ``move`` copies, for instance to a device."""
        other = NeighborSearch.__new__(NeighborSearch)
        other.__setstate__(self.__getstate__() | {"X": move(self._X)})
        return other

    def query(self, queries: Any, n_neighbors: int) -> Any:
        """Neighbors of new rows among those of :meth:`fit`.

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

    def _from_graph(self, graph: Any, queries: Any | None, k: int) -> NDArray[np.intp]:
        """The k nearest neighbors in a transformer's sparse graph of distances."""
        X = self._X if queries is None else queries
        graph = _checked_graph(graph, (X.shape[0], self._X.shape[0]), self._transformer)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(graph.indptr))
        others, distances = graph.indices.astype(np.intp), graph.data
        if queries is None:  # some transformers list the row itself, others do not
            different = rows != others
            rows, others, distances = rows[different], others[different], distances[different]
        if _is_euclidean(self._transformer):
            distances = pair_distances(X, rows, self._X, others)

        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, rows, distances)
        comparable = in_single(distances, largest[rows])
        order = np.lexsort((comparable, rows))  # stable: ties keep the order of the row numbers
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

    def _report_short(self, X: Any, short: NDArray[np.intp], k: int) -> None:
        """Warn of rows for which a transformer found too few; refuse them in another metric."""
        name = type(self._transformer).__name__
        if not _is_euclidean(self._transformer):
            raise ValueError(
                f"{name} found fewer than {k} neighbors for {len(short)} of {X.shape[0]} rows, "
                f"the first of them row {short[0]}. Let it find more (n_neighbors, radius), or "
                "lower n_neighbors of the method."
            )
        if len(short) > 0.01 * X.shape[0]:
            warn_user(
                f"{name} found fewer than {k} neighbors for {len(short)} of {X.shape[0]} rows: "
                "they are searched exactly, which compares them with all rows. Let it find more "
                "(n_neighbors, radius)."
            )

    def _complete(
        self, X: Any, short: NDArray[np.intp], others_only: bool, k: int
    ) -> NDArray[np.intp]:
        """Neighbors of the rows whose neighbors a transformer left open: searched exactly."""
        if not hasattr(self, "_exact"):
            self._exact = self.backend.exact_search(self._X)
        found: NDArray[np.intp] = self._exact.nearest(X[short], k + others_only)
        if not others_only:
            return found
        # Among many duplicates the row itself need not be found; then the last one is too many.
        keep = found != short[:, None]
        keep[keep.all(axis=1), -1] = False
        others: NDArray[np.intp] = found[keep].reshape(len(short), k)
        return others


def _make_transformer(neighbors: Any, X: Any, k: int) -> Any | None:
    """A transformer that proposes more than k neighbors a row, unfitted; None for exact search."""
    if neighbors == "exact":
        return None
    if neighbors == "approximate":
        # Only here, because the package behind it is an extra.
        from ambilearn.graph.approximate import ApproximateNeighbors

        if sparse.issparse(X):
            raise ValueError(
                "neighbors='approximate' needs dense rows. Reduce sparse ones first "
                "(sklearn.decomposition.TruncatedSVD), or pass a neighbors transformer that takes "
                "them, such as pynndescent.PyNNDescentTransformer."
            )
        neighbors = ApproximateNeighbors()
    transformer = clone(neighbors)
    if "n_neighbors" in transformer.get_params(deep=False):
        # One more for the row itself, where a transformer counts it.
        wanted = max(k + 1 + EXTRA_NEIGHBORS, transformer.n_neighbors)
        transformer.set_params(n_neighbors=min(wanted, X.shape[0] - 1))
    return transformer


def _sensible_choice(X: Any) -> str:
    """Exact where it is quick, else approximate; exact and a warning where that is impossible."""
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
        "or pass a neighbors transformer; neighbors='exact' says that this is what you want."
    )
    return "exact"


def _checked_graph(graph: Any, shape: tuple[int, int], transformer: Any) -> sparse.csr_array:
    """The graph that a transformer gave, as CSR with sorted columns; refused if it is none."""
    name = type(transformer).__name__
    if not sparse.issparse(graph):
        raise ValueError(
            f"The neighbors transformer {name} must give a sparse matrix of distances, as "
            f"sklearn.neighbors.KNeighborsTransformer does; it gave {type(graph).__name__}."
        )
    if graph.shape != shape:
        raise ValueError(
            f"The neighbors transformer {name} must give a matrix of shape {shape} (rows asked, "
            f"rows fitted); its shape is {graph.shape}."
        )
    check_structure(graph, f"The graph of the neighbors transformer {name}")
    graph = sparse.csr_array(graph, copy=True)
    graph.sum_duplicates()
    return graph


def _is_euclidean(transformer: Any) -> bool:
    """Whether the neighbors that a transformer finds are the nearest by Euclidean distance."""
    params = transformer.get_params(deep=False)
    metric = params.get("metric", "euclidean")
    return metric in ("euclidean", "l2", "sqeuclidean") or (
        metric == "minkowski" and params.get("p", 2) == 2
    )


def refuse_search_in_kernel(neighbors: Any) -> None:
    """A kernel matrix has no rows that could be searched, and holds all distances already."""
    if neighbors not in ("auto", "exact"):
        raise ValueError(
            "With kernel='precomputed' the neighbors come from the kernel matrix: neighbors must "
            f"be 'auto' or 'exact', not {neighbors!r}."
        )


def _refuse_search_on_device(neighbors: Any) -> None:
    """On a device all rows are compared; what others offer searches on the processor."""
    if neighbors not in ("auto", "exact"):
        raise ValueError(
            "On a device the neighbors are searched exactly: neighbors must be 'auto' or 'exact', "
            f"not {neighbors!r}. For another search move X to the CPU."
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


def in_form_of(fitted: Any, X: Any) -> Any:
    """Rows as sparse or dense as those among which their neighbors are."""
    if sparse.issparse(X) == sparse.issparse(fitted):
        return X
    return X.toarray() if sparse.issparse(X) else sparse.csr_array(X)


def warn_inexact(solution: Solution[Any], problem: str) -> None:
    """Warn that a solution is not optimal.

    Parameters
    ----------
    solution : Solution
        Result of a solver.
    problem : str
        Name of the unknowns, for the message.
    """
    warn_user(
        f"The {problem} are not exact: {solution.status.value} (residual "
        f"{solution.residual:.1e} after {solution.steps} steps). Scale the features, or "
        "lower the weight of the graph.",
        ConvergenceWarning,
    )
