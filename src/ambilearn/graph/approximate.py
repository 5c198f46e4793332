"""Approximate neighbors as a scikit-learn transformer, on the inverted-file index of Faiss.

Rows are sorted into cells around k-means centers [1]_, and the neighbors of a row are searched
exactly in the few cells nearest to it. The number of cells grows with n, and the number of rows
that a search compares does not, so the time of a search in all rows for all rows is proportional
to n but for the assignment to the centers, a matrix product.

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

_ROWS_PER_CENTER = 64  # k-means sees this many for each center


class ApproximateNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Distances to approximately nearest neighbors; needs the extra ``ann``.

    The counterpart of :class:`sklearn.neighbors.KNeighborsTransformer` for many rows. The result
    depends neither on chance nor on the number of threads.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbors of each row. As with KNeighborsTransformer one more is found, which for a
        training row is the row itself.
    cell_size : int, default=1000
        Mean number of rows in a cell. Up to this many rows the search is exact.
    n_probes : int, default=8
        Cells searched for each row. More give a better recall, in proportionally more time.

    Attributes
    ----------
    index_ : faiss.IndexIVFFlat
        The index of the training rows, centered and scaled: single precision suffices then.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X was a data frame with string column names.

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
            Rows among which to search.
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
        """Search the neighbors of rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        graph : csr_array of shape (m, n)
            Distances to ``n_neighbors + 1`` training rows, since a training row finds itself;
            fewer where the cells searched have fewer.
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
            # Rows of one cell in turn: what they are compared with is in the cache already.
            order = np.argsort(self.index_.quantizer.assign(rows[block], 1).ravel(), kind="stable")
            near, which = self.index_.search(rows[block][order], k)
            squared[block][order], found[block][order] = near, which
        missing = found < 0  # less than k rows in the cells searched
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
    with requires_extra("ann", purpose="Approximate search of neighbors"):
        import faiss
    return faiss
