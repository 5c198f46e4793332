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

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ambilearn._utils.blocks import row_blocks
from ambilearn._utils.optional import requires_extra
from ambilearn._utils.sklearn_compat import Interval

_ROWS_PER_CENTER = 64  # rows per center that k-means uses


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

    def fit(self, X: Any, y: Any = None) -> Self:
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

    def transform(self, X: Any) -> sparse.csr_array:
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
        self.index_.nprobe = self.n_probes
        squared = np.empty((len(rows), k), dtype=np.float32)
        found = np.empty((len(rows), k), dtype=np.int64)
        for block in row_blocks(len(rows), rows.shape[1] + k):
            # Sorted by cell: the rows they are compared with are then in the CPU cache.
            order = np.argsort(self.index_.quantizer.assign(rows[block], 1).ravel(), kind="stable")
            near, which = self.index_.search(rows[block][order], k)
            squared[block][order], found[block][order] = near, which
        missing = found < 0  # fewer than k rows in the searched cells
        indptr = np.concatenate([[0], np.cumsum(k - missing.sum(axis=1))])
        distances = np.sqrt(squared[~missing], dtype=np.float64) * self._scale
        return sparse.csr_array(
            (distances, found[~missing], indptr), shape=(len(rows), self.n_samples_fit_)
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


def _import_faiss() -> Any:
    with requires_extra("ann", purpose="Approximate neighbor search"):
        import faiss
    return faiss
