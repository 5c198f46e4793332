"""Approximate nearest neighbors as a scikit-learn transformer, based on Faiss' inverted-file index.

Rows are assigned to cells around k-means centers [1]_, and the neighbors of a row are searched
exactly in the cells nearest to it. The number of cells grows with n, but the number of rows
compared per search does not. The time to search the neighbors of all rows is therefore proportional
to n, except for the assignment to the centers, a matrix product.

References
----------
.. [1] Johnson, Douze, Jégou. Billion-scale similarity search with GPUs. IEEE Trans. Big Data 7(3),
   535-547, 2021.
"""

from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ambilearn._utils.limits import IN_CACHE, row_blocks, threads_for
from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.text import requires_extra
from ambilearn._utils.types import Matrix

_ROWS_PER_CENTER = 64  # rows per center that k-means uses
_NUMBERS_PER_ROW = 50  # numbers in memory for each row that is searched, besides its features


class ApproximateNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Distances to approximate nearest neighbors; requires the extra ``ann``.

    The counterpart of :class:`sklearn.neighbors.KNeighborsTransformer` for many rows. The result is
    deterministic and does not depend on the number of threads.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbors of each row. As in KNeighborsTransformer, one more is returned; for a training
        row that is the row itself.
    cell_size : int, default=1000
        Mean number of rows in a cell. Up to this many rows the search is exact.
    n_probes : int, default=8
        Cells searched for each row. More cells improve the recall and take proportionally more
        time.

    Attributes
    ----------
    index_ : faiss.IndexIVFFlat
        Index of the training rows, which are centered and scaled for single precision.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X is a data frame with string column names.

    Examples
    --------
    >>> from ambilearn import PLKNN
    >>> from ambilearn.graph.approximate import ApproximateNeighbors
    >>> thorough = PLKNN(neighbors=ApproximateNeighbors(n_probes=32))
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "cell_size": [Interval(Integral, 1, None, closed="left")],
        "n_probes": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_neighbors: int = 10, cell_size: int = 1000, n_probes: int = 8) -> None:
        self.n_neighbors = n_neighbors
        self.cell_size = cell_size
        self.n_probes = n_probes

    def fit(self, X: Matrix, y: None = None) -> Self:
        """Build the index.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to search.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        faiss = _import_faiss()
        self._validate_params()
        X = validate_data(self, X, dtype=np.float64)
        self.n_samples_fit_, d = X.shape
        self._n_features_out = self.n_samples_fit_
        self._center = X.mean(axis=0)
        self._scale = float(np.abs(X - self._center).max()) or 1.0
        n_cells = max(1, self.n_samples_fit_ // self.cell_size)
        self.index_ = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_cells)
        self.index_.cp.max_points_per_centroid = _ROWS_PER_CENTER
        self.index_.cp.min_points_per_centroid = 1
        rows = self._to_single(X)
        self.index_.train(rows)
        self.index_.add(rows)
        return self

    def transform(self, X: Matrix) -> sparse.csr_array:
        """Search the neighbors of each row.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        graph : csr_array of shape (m, n)
            Distances to ``n_neighbors + 1`` training rows, because a training row finds itself;
            fewer if the searched cells have fewer rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._search(self._to_single(X), min(self.n_neighbors + 1, self.n_samples_fit_))

    def _to_single(self, X: NDArray[np.float64]) -> NDArray[np.float32]:
        single: NDArray[np.float64] = X - self._center
        single /= self._scale
        return single.astype(np.float32)

    def _search(self, rows: NDArray[np.float32], k: int) -> sparse.csr_array:
        cells = _Cells(self.index_)
        parts = []
        for block in row_blocks(len(rows), _NUMBERS_PER_ROW + rows.shape[1]):
            _, probes = self.index_.quantizer.search(rows[block], min(self.n_probes, cells.n))
            parts.append(cells.nearest(rows[block], probes, k))
        counts, found, distances = map(np.concatenate, zip(*parts, strict=True))
        return sparse.csr_array(
            (distances * self._scale, found, np.concatenate([[0], np.cumsum(counts)])),
            shape=(len(rows), self.n_samples_fit_),
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__().copy()
        if "index_" in state:
            state["index_"] = _import_faiss().serialize_index(state["index_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "index_" in state:
            state = state | {"index_": _import_faiss().deserialize_index(state["index_"])}
        super().__setstate__(state)


class _Cells:
    """The rows of an index, cell by cell, and the search among them.

    Faiss compares one row at a time. Here all rows that search a cell are compared with it in one
    matrix product, which is three times as fast.
    """

    def __init__(self, index: Any) -> None:
        faiss = _import_faiss()
        lists = index.invlists
        self.n = index.nlist
        sizes = [lists.list_size(cell) for cell in range(self.n)]
        self._ends = np.concatenate([[0], np.cumsum(sizes)])
        self._numbers = np.empty(index.ntotal, dtype=np.int64)
        self._rows = np.empty((index.ntotal, index.d), dtype=np.float32)
        for cell, size in enumerate(sizes):
            if size:
                place = slice(self._ends[cell], self._ends[cell + 1])
                self._numbers[place] = faiss.rev_swig_ptr(lists.get_ids(cell), size)
                codes = faiss.rev_swig_ptr(lists.get_codes(cell), size * index.code_size)
                self._rows[place] = codes.view(np.float32).reshape(size, -1)
        self._squares = np.einsum("ij,ij->i", self._rows, self._rows)
        self._n_threads = faiss.omp_get_max_threads()

    def nearest(
        self, queries: NDArray[np.float32], probes: NDArray[np.int64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The k nearest rows in the cells ``probes`` (m, p) of each query, nearest first.

        Returns the number of rows found for each query, and for all queries, one after the other,
        the numbers of these rows and their distances.
        """
        # The k-th distance in the nearest cell limits the distances of interest in the others.
        limits = np.full(len(queries), np.inf, dtype=np.float32)

        def search_first(cell: int, asking: NDArray[np.intp]) -> _Found:
            scores = self._scores(queries[asking], cell)
            if scores.shape[1] <= k:
                places = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
            else:
                places = np.argpartition(scores, k - 1, axis=1)[:, :k]
                scores = np.take_along_axis(scores, places, axis=1)
                limits[asking] = scores.max(axis=1)
            owners = np.repeat(asking, scores.shape[1])
            return owners, places.ravel() + self._ends[cell], scores.ravel()

        def search_next(cell: int, asking: NDArray[np.intp]) -> _Found:
            scores = self._scores(queries[asking], cell)
            (hits,) = np.nonzero((scores < limits[asking, None]).ravel())
            which, places = np.divmod(hits, max(scores.shape[1], 1))
            return asking[which], places + self._ends[cell], scores.ravel()[hits]

        with threads_for(0), ThreadPoolExecutor(self._n_threads) as pool:
            found = list(pool.map(search_first, *_by_cell(probes[:, :1])))
            found += pool.map(search_next, *_by_cell(probes[:, 1:]))
        owners, places, scores = map(np.concatenate, zip(*found, strict=True))
        order = order_by_row(owners, scores)
        owners, places = owners[order], places[order]
        counts = np.bincount(owners, minlength=len(queries))
        kept = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts) < k
        owners, places = owners[kept], places[kept]
        distances = np.empty(len(owners))
        for block in row_blocks(len(owners), queries.shape[1], limit=IN_CACHE):
            difference = queries[owners[block]] - self._rows[places[block]]
            distances[block] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        return np.minimum(counts, k), self._numbers[places], distances

    def _scores(self, queries: NDArray[np.float32], cell: int) -> NDArray[np.float32]:
        """Half the squared distances to the rows of a cell, up to a number for each query."""
        place = slice(self._ends[cell], self._ends[cell + 1])
        return self._squares[place] / 2 - queries @ self._rows[place].T


# Queries, places of rows, and scores of the pairs.
_Found = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]


def _by_cell(probes: NDArray[np.int64]) -> tuple[list[int], list[NDArray[np.intp]]]:
    """The cells that are searched, and the queries that search each; negative cells are none."""
    order = np.argsort(probes.ravel(), stable=True)
    cells = probes.ravel()[order]
    begins = np.flatnonzero(np.diff(cells, prepend=-1))
    asking = np.split(order // max(probes.shape[1], 1), begins)[1:]
    return cells[begins].tolist(), asking


def order_by_row(rows: NDArray[np.intp], values: NDArray[np.float32]) -> NDArray[np.intp]:
    """Order by row, then by value; ties keep the input order. Faster than ``numpy.lexsort``.

    >>> order_by_row(np.array([1, 0, 0]), np.array([-2.0, 0.5, -1.5], np.float32)).tolist()
    [2, 1, 0]
    """
    bits = (values + np.float32(0)).view(np.int32)  # a negative zero becomes zero
    # Bits of positive floats sort as integers; those of negative ones in reverse.
    ascending = np.where(bits < 0, -2147483648 - bits.astype(np.int64), bits)
    return np.argsort((rows.astype(np.int64) << 33) + ascending, stable=True)


def _import_faiss() -> ModuleType:
    with requires_extra("ann", purpose="Approximate neighbor search"):
        import faiss
    return faiss
