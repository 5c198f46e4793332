"""Neighbor search: exact, approximate, or with a scikit-learn neighbors transformer.

Every method that uses neighbors has the parameter ``neighbors``. Exact search compares all pairs of
rows, so its time grows with n². The time of approximate search grows little faster than n, and it
misses some neighbors. Transformers that return the sparse graph of distances to neighbors, such as
:class:`sklearn.neighbors.KNeighborsTransformer`, are also accepted.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.sklearn_compat import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from ambilearn._utils.types import Array, Matrix
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import HOST, Backend, choose_backend
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

_MAX_EXACT_ROWS = 50_000  # "auto" searches exactly up to this number of rows
_EXACT_FEATURES = 4  # and up to this number of features, where a tree needs n·log n time


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
        from ambilearn.backend.host.products import nearest_in_matrix, squared_kernel_distances

        _reject_search(neighbors, "Neighbors for kernel='precomputed' come from the kernel matrix")
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
        not Euclidean, its own distances decide which are nearest. See
        :class:`~ambilearn.graph.transformer_search.TransformerSearch`.
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
        return self._search.nearest(None, n_neighbors)

    def _choose(self) -> None:
        """Choose the search method."""
        self.backend = choose_backend(self._X)
        if self.backend is not HOST:
            reason = "On a device the neighbors are searched exactly, unlike on the CPU"
            _reject_search(self._neighbors, reason)
            self._neighbors = "exact"
        elif self._neighbors == "auto":  # stored, so that a saved search keeps its method
            n, d = self._X.shape
            self._neighbors = "exact"
            if n > _MAX_EXACT_ROWS and d > _EXACT_FEATURES:
                from ambilearn.graph.transformer_search import method_for_many_rows

                self._neighbors = method_for_many_rows(self._X)
        if self._neighbors == "exact":
            self._search: Any = self.backend.exact_search(self._X)
        else:
            from ambilearn.graph.transformer_search import TransformerSearch

            self._search = TransformerSearch(self._neighbors, self._X, self._n_neighbors)

    def __getstate__(self) -> dict[str, Any]:
        # Few file formats can store an index, so it is rebuilt.
        return {"neighbors": self._neighbors, "X": self._X, "n_neighbors": self._n_neighbors}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._neighbors, self._X = state["neighbors"], state["X"]
        self._n_neighbors = state["n_neighbors"]
        self._choose()
        if self._neighbors != "exact":
            self._search.fit()

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
        return self._search.nearest(queries, n_neighbors)


def _reject_search(neighbors: str | BaseEstimator, reason: str) -> None:
    """Raise if a search method is set and the neighbors are found without one."""
    if neighbors not in ("auto", "exact"):
        raise ValueError(f"{reason}: neighbors must be 'auto' or 'exact', not {neighbors!r}.")


def value_of(solution: Solution[Array], problem: str) -> Array:
    """The value of a solution, with a warning if it is not optimal.

    ``problem`` names the unknowns in the message.
    """
    if not solution.is_optimal:
        warn_user(
            f"The {problem} are not exact: the solver stopped at the step limit (residual "
            f"{solution.residual:.1e} after {solution.steps} steps). Scale the features, or "
            "lower the weight of the graph.",
            ConvergenceWarning,
        )
    return solution.value
