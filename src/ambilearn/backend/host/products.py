"""Products in host memory: of rows, with support vectors, and in the space of a kernel."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ambilearn._utils.limits import IN_CACHE, row_blocks
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.support import Support
from ambilearn.backend.ties import EXTRA_NEIGHBORS, nearest_first, nearest_places
from ambilearn.solvers.support_graph import pairs_of_edges

# Upper bound of the rounding error in sums of inner products, relative to the squared lengths.
ROUNDING = 1e-14


def neighbor_products(
    X: Matrix, Z: Matrix, neighbor_indices: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Inner products of each row of X and its neighbors in Z, shape (n, k + 1, k + 1)."""
    n, k = neighbor_indices.shape
    if sparse.issparse(X):
        both = sparse.vstack([Z, X]).tocsr()
        members = np.concatenate([np.arange(n)[:, None] + Z.shape[0], neighbor_indices], axis=1)
        return inner_products(members, lambda a, b: sparse_products(both, a, b))
    products = np.empty((n, k + 1, k + 1))
    for block in row_blocks(n, k * X.shape[1], limit=IN_CACHE):
        members = np.concatenate([X[block, None, :], Z[neighbor_indices[block]]], axis=1)
        np.matmul(members, members.transpose(0, 2, 1), out=products[block])
    return products


def grams_from_products(
    neighbor_indices: NDArray[np.intp], product: Callable[[Array, Array], Array]
) -> NDArray[np.float64]:
    """The Gram matrices from inner products alone: (i,i) − (i,b) − (a,i) + (a,b)."""
    own = np.arange(len(neighbor_indices))[:, None]
    inner = inner_products(np.concatenate([own, neighbor_indices], axis=1), product)
    gram = inner[:, :1, :1] - inner[:, :1, 1:] - inner[:, 1:, :1] + inner[:, 1:, 1:]
    # For equal rows the result is a rounding error, which can be negative. Rows of unit length that
    # were centered have lengths of at most 2; duplicates are recognized by the error of length 1.
    diagonal = np.arange(gram.shape[1])
    longest = np.minimum(inner.diagonal(axis1=1, axis2=2).max(axis=1), 1.0)
    gram[:, diagonal, diagonal] += ROUNDING * longest[:, None]
    return gram


def inner_products(
    members: NDArray[np.intp], product: Callable[[Array, Array], Array]
) -> NDArray[np.float64]:
    """Inner products of the rows listed in each row of ``members``, shape (n, m, m)."""
    n, m = members.shape
    inner = np.empty((n, m, m))
    for block in row_blocks(n, m**2, limit=IN_CACHE):
        a, b = np.broadcast_arrays(members[block, :, None], members[block, None, :])
        inner[block] = product(a.ravel(), b.ravel()).reshape(a.shape)
    return inner


def sparse_products(
    Z: sparse.csr_array, a: NDArray[np.intp], b: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Inner product of each pair of rows ``Z[a[p]]`` and ``Z[b[p]]``."""
    return np.asarray(Z[a].multiply(Z[b]).sum(axis=1)).ravel()


def squared_residuals(
    weights: NDArray[np.float64],
    products: NDArray[np.float64],
    labels: NDArray[np.intp],
    n_labels: int,
) -> NDArray[np.float64]:
    """Squared distance of each row to its reconstruction from neighbors of one label, (n, l)."""
    # ‖x − v‖² = ‖x‖² − 2x'v + v'v with v = Σ w_a x_a over the neighbors of one label, computed for
    # the label of each neighbor. The residual of labels without neighbors is ‖x‖.
    together = labels[:, :, None] == labels[:, None, :]
    inner = weights[:, :, None] * products[:, 1:, 1:] * weights[:, None, :]
    xv = np.einsum("iab,ib->ia", together, weights * products[:, 1:, 0])
    vv = np.einsum("iab,ib->ia", together, np.sum(together * inner, axis=2))
    xx = products[:, :1, 0]
    squares = np.tile(xx, n_labels)
    np.put_along_axis(squares, labels, xx - 2 * xv + vv, axis=1)
    return squares


# --- of features, graphs and support vectors --------------------------------------------------

# With more labels than this per candidate, products of single pairs beat one matrix product.
_MAX_LABELS_PER_PAIR = 40


def target_sums(
    candidates: Support, features: Matrix, values: Array, off_support: float | Array
) -> tuple[Array, Array]:
    r"""Sums :math:`\Phi^\top T` and :math:`\mathbf 1^\top T` of targets on the support."""
    off = np.broadcast_to(np.asarray(off_support, dtype=np.float64), (candidates.n_rows,))
    parts = values - off[candidates.rows], candidates.labels, candidates.indptr
    excess = sparse.csr_array(parts, shape=candidates.sets.shape)  # zero off the support
    if candidates.row_weights is not None:
        excess.data *= candidates.pair_weights
        off = off * candidates.row_weights
    product = excess.T @ features
    product = (product.toarray() if sparse.issparse(product) else product).T
    total = candidates.label_sums(excess.data)
    if off.any():
        product = product + (features.T @ off)[:, None]
        total = total + off.sum()
    return np.ascontiguousarray(product), total


def pair_outputs(candidates: Support, features: Matrix, coef: Array, intercept: Array) -> Array:
    """Outputs of the candidate pairs."""
    rows, labels, indptr = candidates.rows, candidates.labels, candidates.indptr
    outputs = np.empty(len(labels))
    labels_per_pair = len(intercept) * candidates.n_rows / len(labels)
    if not sparse.issparse(features) and labels_per_pair > _MAX_LABELS_PER_PAIR:
        of_label = np.ascontiguousarray(coef.T)
        for pairs in row_blocks(len(labels), 4 * len(coef)):
            np.vecdot(features[rows[pairs]], of_label[labels[pairs]], out=outputs[pairs])
    else:
        for block in row_blocks(candidates.n_rows, 4 * len(intercept)):
            pairs = slice(indptr[block.start], indptr[block.stop])
            product = features[block] @ coef
            outputs[pairs] = product[rows[pairs] - block.start, labels[pairs]]
    outputs += intercept[labels]
    return outputs


def restrict_to_support(
    graph: sparse.csr_array, indptr: NDArray[np.intp], labels: NDArray[np.intp]
) -> sparse.csr_array:
    """Graph on the rows as a matrix on the support, of shape (n_pairs, n_pairs).

    Entry ((i, j), (a, j)) is ``graph[i, a]``, wherever *j* is a candidate of both *i* and *a*; with
    a support vector *p* that fills *P*, the product with *p* is ``graph @ P`` on the support.
    """
    n, n_labels, n_pairs = len(indptr) - 1, int(labels.max()) + 1, len(labels)
    edge, pair = pairs_of_edges(indptr, graph.indices)
    source = np.repeat(np.arange(n), np.diff(graph.indptr))[edge]
    keys = np.repeat(np.arange(n), np.diff(indptr)) * n_labels + labels  # ascending
    wanted = source * n_labels + labels[pair]
    own = np.minimum(np.searchsorted(keys, wanted), n_pairs - 1)
    shared = keys[own] == wanted
    entries = (graph.data[edge[shared]], (own[shared], pair[shared]))
    return sparse.coo_array(entries, shape=(n_pairs, n_pairs)).tocsr()


# --- in the feature space of a kernel matrix ----------------------------------------------------


def unit_kernel(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """The kernel matrix of the rows scaled to unit length in the feature space."""
    lengths = np.sqrt(np.clip(np.diag(K), 0, None))
    lengths[lengths == 0] = 1.0
    return K / np.outer(lengths, lengths)


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
