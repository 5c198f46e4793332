"""Neighbor search by a scikit-learn transformer that returns a sparse graph of distances."""

from functools import cached_property
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.text import install_command
from ambilearn._utils.types import Matrix
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import HOST
from ambilearn.backend.host.neighbors import pair_distances
from ambilearn.backend.interface import ExactSearch
from ambilearn.backend.ties import EXTRA_NEIGHBORS, in_single
from ambilearn.graph.approximate import ApproximateNeighbors, order_by_row

_MAX_PAIRS = 2**28  # limit of row comparisons to resolve ties
_EXACT_SPEED = 2e10  # approximate number of features that exact search compares per second, 2 cores


def method_for_many_rows(X: Matrix) -> str:
    """Approximate search, or exact search with a warning if that is not available."""
    if sparse.issparse(X):
        reason, remedy = "the rows are sparse", "reduce them by TruncatedSVD"
    elif find_spec("faiss") is None:
        reason = "the extra 'ann' is not installed"
        remedy = f"run: {install_command('ann')}"
    else:
        return "approximate"
    n, d = X.shape
    minutes = max(1, round(n**2 * d / _EXACT_SPEED / 60))
    warn_user(
        f"The neighbors of {n} rows are searched exactly because {reason}: {n}² comparisons, "
        f"about {minutes} min on two cores. For approximate neighbors in a few minutes {remedy}, "
        "or pass a neighbors transformer. neighbors='exact' silences this warning."
    )
    return "exact"


class TransformerSearch:
    """Search for the nearest rows by a clone of a transformer, or by approximate search.

    For k neighbors, a transformer searches k + 6: one more because some transformers include the
    row itself, and five to resolve ties for the last neighbor. In the clone, a smaller
    ``n_neighbors`` is raised to this number, a larger one is kept, and both are limited to n − 1.
    Rows with fewer than k neighbors in the result, which a radius can cause, are searched exactly;
    with a metric that is not Euclidean they are an error. Rows whose last neighbor is tied with all
    further results are also searched exactly if the metric is Euclidean and this compares at most
    2²⁸ pairs of rows; otherwise the transformer decides which of the tied rows are neighbors.

    Parameters
    ----------
    neighbors : "approximate" or transformer
        The search.
    X : array or sparse matrix of shape (n, d)
        Rows to search.
    n_neighbors : int
        The number k of neighbors of each of these rows.
    """

    def __init__(self, neighbors: str | BaseEstimator, X: Matrix, n_neighbors: int) -> None:
        self._X = X
        self._transformer = _make_transformer(neighbors, X, n_neighbors)

    @cached_property
    def _exact(self) -> ExactSearch:
        return HOST.exact_search(self._X)

    def fit(self) -> None:
        """Fit the transformer again, after the search was loaded from a file."""
        self._transformer.fit(self._X)

    def nearest(self, queries: Matrix | None, k: int) -> NDArray[np.intp]:
        """As :meth:`ambilearn.backend.interface.ExactSearch.nearest`."""
        if queries is None:
            graph = self._transformer.fit_transform(self._X)
        else:
            graph = self._transformer.transform(queries)
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
        found: NDArray[np.intp] = self._exact.nearest(X[short], k + others_only)
        if not others_only:
            return found
        # With many duplicates the row itself may be missing; then drop the last neighbor.
        keep = found != short[:, None]
        keep[keep.all(axis=1), -1] = False
        return found[keep].reshape(len(short), k)


def _make_transformer(neighbors: str | BaseEstimator, X: Matrix, k: int) -> BaseEstimator:
    """Unfitted transformer that searches more than k neighbors per row."""
    if neighbors == "approximate":
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
