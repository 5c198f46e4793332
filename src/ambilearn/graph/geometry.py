r"""Neighbour graphs: the Gram matrices of the differences to the neighbours.

The graph of PL-CL and PL-AGGD rebuilds each row from its *k* nearest neighbours. What its weights
need of a space is one small Gram matrix per row,

.. math:: (B_i)_{ab} = (z_i - z_a)^\top (z_i - z_b), \qquad a, b \in \mathcal N_i .
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from ambilearn._utils.blocks import IN_CACHE, array_blocks, row_blocks
from ambilearn.graph.edges_on_device import DeviceGraph
from ambilearn.graph.neighbors import NeighborSearch, nearest_in_matrix, refuse_search_in_kernel

# More than rounding can change in sums of inner products of vectors of unit length.
_ROUNDING = 1e-14


def unit_rows(X: Any) -> Any:
    """Rows scaled to unit length, however short; zero rows stay as they are."""
    if not _on_host(X):
        xp = array_namespace(X)
        norms = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
        return X / xp.where(norms == 0, 1.0, norms)
    norms = np.sqrt(row_norms(X, squared=True))
    norms[norms == 0] = 1.0
    if sparse.issparse(X):
        unit = X.tocsr(copy=True)
        unit.data /= np.repeat(norms, np.diff(unit.indptr))
        return unit
    return X / norms[:, None]


def neighbor_products(X: Any, Z: Any, neighbor_indices: NDArray[np.intp]) -> Any:
    """Inner products of each row of X and its neighbours in Z with one another.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    Z : array or sparse matrix of shape (m, d)
        Rows among which the neighbours are.
    neighbor_indices : ndarray of shape (n, k)
        Indices of the neighbours.

    Returns
    -------
    products : ndarray of shape (n, k + 1, k + 1)
        The row comes first, then its neighbours.
    """
    n, k = neighbor_indices.shape
    if not _on_host(X):
        return _products_on_device(X, Z, neighbor_indices)
    if sparse.issparse(X):
        both = sparse.vstack([Z, X]).tocsr()
        members = np.concatenate([np.arange(n)[:, None] + Z.shape[0], neighbor_indices], axis=1)
        return _inner_products(members, lambda a, b: _sparse_products(both, a, b))
    products = np.empty((n, k + 1, k + 1))
    for block in row_blocks(n, k * X.shape[1], limit=IN_CACHE):
        members = np.concatenate([X[block, None, :], Z[neighbor_indices[block]]], axis=1)
        np.matmul(members, members.transpose(0, 2, 1), out=products[block])
    return products


def _on_host(X: Any) -> bool:
    return sparse.issparse(X) or is_numpy_array(X)


def _members_on_device(X: Any, Z: Any, neighbor_indices: Any) -> Any:
    """Each row of X and its neighbours in Z, block by block, shape (rows, k, d)."""
    xp = array_namespace(X)
    k, d = neighbor_indices.shape[1], X.shape[1]
    for rows in array_blocks(X, 2 * k * d):
        taken = xp.take(Z, xp.reshape(neighbor_indices[rows, :], (-1,)), axis=0)
        yield xp, X[rows, None, :], xp.reshape(taken, (-1, k, d))


def _products_on_device(X: Any, Z: Any, neighbor_indices: Any) -> Any:
    parts = []
    for xp, row, taken in _members_on_device(X, Z, neighbor_indices):
        members = xp.concat([row, taken], axis=1)
        parts.append(xp.matmul(members, xp.matrix_transpose(members)))
    return array_namespace(X).concat(parts)


def _grams_on_device(Z: Any, neighbor_indices: Any) -> Any:
    parts = []
    for xp, row, taken in _members_on_device(Z, Z, neighbor_indices):
        differences = row - taken
        parts.append(xp.matmul(differences, xp.matrix_transpose(differences)))
    return array_namespace(Z).concat(parts)


class LocalGeometry:
    """Neighbours of unit-length rows, and the Gram matrices of the differences to them.

    The authors of PL-CL build the graph on rows scaled to unit length; the paper does not say so.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features; or a kernel matrix, with ``precomputed``.
    n_neighbors : int
        Number of neighbours, less than n.
    precomputed : bool, default=False
        Whether X is the kernel matrix. The graph is then built in the kernel's feature space,
        again on unit-length vectors; with a linear kernel that is the same graph.
    neighbors : {"auto", "exact", "approximate"} or transformer, default="auto"
        How neighbours are searched among the unit-length rows; see
        :class:`~ambilearn.graph.neighbors.NeighborSearch`.

    Attributes
    ----------
    neighbor_indices : ndarray of shape (n, k)
    gram : ndarray of shape (n, k, k)
    averages : ndarray of shape (n, k, k) or None
        As :func:`averages_of_coinciding` returns them.
    """

    def __init__(
        self, X: Any, n_neighbors: int, *, precomputed: bool = False, neighbors: Any = "auto"
    ) -> None:
        if precomputed:
            refuse_search_in_kernel(neighbors)
            lengths = np.sqrt(np.clip(np.diag(X), 0, None))
            lengths[lengths == 0] = 1.0
            cosine = X / np.outer(lengths, lengths)
            distances = squared_kernel_distances(cosine)
            self.neighbor_indices = nearest_in_matrix(distances, n_neighbors)
            self.gram = _gram_from_products(self.neighbor_indices, lambda a, b: cosine[a, b])
            self.averages = averages_of_coinciding(self.gram)
            return
        unit = unit_rows(X)
        self.neighbor_indices = NeighborSearch(neighbors).fit(unit, n_neighbors)
        if sparse.issparse(unit):
            self.gram = _gram_from_products(
                self.neighbor_indices, lambda a, b: _sparse_products(unit, a, b)
            )
        else:
            self.gram = difference_grams(unit, self.neighbor_indices)
        self.averages = averages_of_coinciding(self.gram)


def squared_kernel_distances(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances in the feature space of a kernel matrix; zero up to rounding is zero."""
    squares = np.diag(K)
    distances = squares[:, None] + squares - 2 * K
    distances[distances <= _ROUNDING * np.abs(squares)[:, None]] = 0.0
    return np.clip(distances, 0, None, out=distances)


def difference_grams(Z: NDArray[np.float64], neighbor_indices: NDArray[np.intp]) -> Any:
    """Gram matrices of the differences of each row of Z to its neighbours.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Features or confidences.
    neighbor_indices : ndarray of shape (n, k)
        Indices of the neighbours.

    Returns
    -------
    gram : ndarray of shape (n, k, k)
    """
    n, k = neighbor_indices.shape
    if not _on_host(Z):
        return _grams_on_device(Z, neighbor_indices)
    gram = np.empty((n, k, k))
    for block in row_blocks(n, k * Z.shape[1], limit=IN_CACHE):
        differences = Z[block, None, :] - Z[neighbor_indices[block]]
        np.matmul(differences, differences.transpose(0, 2, 1), out=gram[block])
    return gram


def _gram_from_products(neighbor_indices: NDArray[np.intp], product: Any) -> NDArray[np.float64]:
    """The same Gram matrices from inner products alone: (i,i) − (i,b) − (a,i) + (a,b)."""
    own = np.arange(len(neighbor_indices))[:, None]
    inner = _inner_products(np.concatenate([own, neighbor_indices], axis=1), product)
    gram = inner[:, :1, :1] - inner[:, :1, 1:] - inner[:, 1:, :1] + inner[:, 1:, 1:]
    # Of rows that coincide only the rounding is left, of any sign: no Gram matrix any more.
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += _ROUNDING
    return gram


def averages_of_coinciding(gram: Any) -> Any | None:
    """Matrices that replace each weight by the mean weight of the neighbors that coincide.

    Neighbors that coincide rebuild a row equally well with any division of their weight, and
    rounding would choose one. They share it equally.

    Parameters
    ----------
    gram : array of shape (n, k, k)
        Gram matrices of the differences of unit-length rows to their neighbors.

    Returns
    -------
    averages : array of shape (n, k, k) or None
        The identity where no neighbors coincide; None if none do in any row.
    """
    xp, k = array_namespace(gram), gram.shape[1]
    squares = xp.linalg.diagonal(gram)
    identity = xp.eye(k, dtype=gram.dtype, device=device(gram))
    between = squares[:, :, None] + squares[:, None, :] - 2 * (gram - identity)
    if not xp.any(between <= 4 * _ROUNDING):
        return None
    same = identity + xp.astype(between <= 4 * _ROUNDING, gram.dtype)
    return same / xp.sum(same, axis=2, keepdims=True)


def _inner_products(members: NDArray[np.intp], product: Any) -> NDArray[np.float64]:
    """Inner products of the rows listed in each row of ``members``, shape (n, m, m)."""
    n, m = members.shape
    inner = np.empty((n, m, m))
    for block in row_blocks(n, m**2, limit=IN_CACHE):
        a, b = np.broadcast_arrays(members[block, :, None], members[block, None, :])
        inner[block] = product(a.ravel(), b.ravel()).reshape(a.shape)
    return inner


def _sparse_products(
    Z: sparse.csr_array, a: NDArray[np.intp], b: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Inner product of each pair of rows ``Z[a[p]]`` and ``Z[b[p]]``."""
    return np.asarray(Z[a].multiply(Z[b]).sum(axis=1)).ravel()


def weights_to_csr(
    neighbor_indices: NDArray[np.intp], weights: NDArray[np.float64], n_columns: int | None = None
) -> sparse.csr_array:
    """The graph *W* as CSR matrix without stored zeros; row *i* rebuilds row *i*.

    It is square unless ``n_columns`` says among how many rows the neighbours were searched.
    """
    n, k = neighbor_indices.shape
    # Copies, because the clean-up below works in place.
    parts = (weights.flatten(), neighbor_indices.flatten(), np.arange(0, n * k + 1, k))
    graph = sparse.csr_array(parts, shape=(n, n_columns or n))
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def weights_to_graph(neighbor_indices: Any, weights: Any) -> Any:
    """The graph *W* as a user gets it: a CSR matrix, or on a device its edges."""
    if is_numpy_array(weights):
        return weights_to_csr(neighbor_indices, weights)
    xp = array_namespace(weights)
    n, k = neighbor_indices.shape
    rows = xp.repeat(xp.arange(n, device=device(weights)), k)
    return DeviceGraph(rows, xp.reshape(neighbor_indices, (-1,)), xp.reshape(weights, (-1,)), n)
