r"""Neighbor graphs on a device, and their restriction to the candidate support.

The same matrix *Z* as in :mod:`ambilearn.solvers.support_graph`, which has a worked example. Blocks
are large, because each call has overhead, and sparse products gather
(:mod:`ambilearn.solvers.gathered_products`).
"""

from types import ModuleType
from typing import NamedTuple

from array_api_compat import array_namespace, device
from scipy import sparse

from ambilearn._utils.types import Array
from ambilearn.backend.arrays import to_numpy
from ambilearn.solvers.gathered_products import GatheredMatrix, SparsePattern
from ambilearn.solvers.support_graph import pairs_of_edges

_MAX_BLOCK_ROWS = 2**17
_MAX_BLOCK_VALUES = 2**27  # confidences laid out at once: 1 GiB


class DeviceGraph(NamedTuple):
    """The edges of a graph, as arrays on a device.

    There are no sparse matrices on a device; :meth:`to_csr` makes one in host memory.

    Parameters
    ----------
    rows, columns : integer arrays of shape (n_edges,)
        Edge *e* leads from row ``columns[e]`` to row ``rows[e]``, which it rebuilds.
    weights : array of shape (n_edges,)
        Weights; those of equal edges add up.
    n_rows : int
        Number of rows.
    """

    rows: Array
    columns: Array
    weights: Array
    n_rows: int

    def to_csr(self) -> sparse.csr_array:
        """The matrix of shape (n, n) in host memory, without stored zeros."""
        rows, columns, weights = (to_numpy(each) for each in self[:3])
        shape = self.n_rows, self.n_rows
        graph = sparse.coo_array((weights, (rows, columns)), shape=shape).tocsr()
        graph.eliminate_zeros()
        return graph


def graph_of_neighbors(neighbor_indices: Array, weights: Array) -> DeviceGraph:
    """The graph with the given weights (n, k) of each row's neighbors."""
    xp = array_namespace(weights)
    n, k = neighbor_indices.shape
    rows = xp.repeat(xp.arange(n, device=device(weights)), k)
    return DeviceGraph(rows, xp.reshape(neighbor_indices, (-1,)), xp.reshape(weights, (-1,)), n)


def symmetric_graph(neighbor_indices: Array, weights: Array) -> DeviceGraph:
    r"""The graph :math:`D^{-1/2} (W + W^\top) D^{-1/2}` with the degrees *D*."""
    xp = array_namespace(weights)
    one_way = graph_of_neighbors(neighbor_indices, weights)
    rows = xp.concat([one_way.rows, one_way.columns])
    columns = xp.concat([one_way.columns, one_way.rows])
    weights = xp.concat([one_way.weights, one_way.weights])
    ones = xp.ones((one_way.n_rows,), dtype=weights.dtype, device=device(weights))
    degrees = SparsePattern(rows, columns, one_way.n_rows).matrix(weights) @ ones
    inverse = 1 / xp.sqrt(xp.where(degrees > 0, degrees, 1.0))
    weights = xp.take(inverse, rows) * weights * xp.take(inverse, columns)
    return DeviceGraph(rows, columns, weights, one_way.n_rows)


class ShiftedIdentity(NamedTuple):
    """The matrix *I* − *S*; supports ``@``."""

    matrix: GatheredMatrix

    def __matmul__(self, p: Array) -> Array:
        return p - self.matrix @ p


class DeviceRoughness(NamedTuple):
    r"""The matrix :math:`Z^\top Z` by its factor; supports ``@``."""

    factor: GatheredMatrix
    transposed: GatheredMatrix
    diagonal: Array

    def __matmul__(self, p: Array) -> Array:
        return self.transposed @ (self.factor @ p) + self.diagonal * p


class DeviceBlock(NamedTuple):
    """Rows that are processed together.

    Parameters
    ----------
    rows : slice
        The rows.
    laid_out : integer array of shape (rows, k + 1, n_slots)
        Pair whose confidence is used: of the row itself, then of its neighbors, one slot for each
        label that the row shares. The number of pairs where there is none.
    unshared : GatheredMatrix
        Adds up the squares of the unshared entries of each edge.
    """

    rows: slice
    laid_out: Array
    unshared: GatheredMatrix


class DeviceSupportGraph:
    """The pattern of *Z* on a device; the counterpart of SupportGraph.

    ``indptr`` and ``labels`` are the candidate pairs, as in
    :class:`~ambilearn.candidates.CandidateSets`; ``neighbor_indices``, of shape (n, k), the
    neighbors that rebuild each row. ``blocks`` has all rows in order.
    """

    def __init__(self, indptr: Array, labels: Array, neighbor_indices: Array) -> None:
        xp, where = array_namespace(neighbor_indices), device(neighbor_indices)
        n, k = neighbor_indices.shape
        n_labels = int(xp.max(labels)) + 1
        sizes = indptr[1:] - indptr[:-1]
        most = min(int(xp.max(sizes)) * (k + 1), n_labels)
        step = min(_MAX_BLOCK_ROWS, max(1, _MAX_BLOCK_VALUES // ((k + 1) * most)))
        self._n_pairs = n_pairs = labels.shape[0]
        self.blocks: list[DeviceBlock] = []
        parts, n_z = [], 0
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            n_rows = rows.stop - first
            own = xp.arange(first, rows.stop, device=where)[:, None]
            members = xp.concat([own, neighbor_indices[rows, :]], axis=1)
            edge, pair = pairs_of_edges(indptr, xp.reshape(members, (-1,)))
            # Sort by row, label and member, all in one number.
            key = (edge // (k + 1) * n_labels + xp.take(labels, pair)) * (k + 1) + edge % (k + 1)
            order = xp.argsort(key)
            key, pair = xp.take(key, order), xp.take(pair, order)
            z_row, member = key // (k + 1), key % (k + 1)
            row = z_row // n_labels
            edge = (first + row) * k + member - 1  # entry e of Z is minus this edge's weight
            source = xp.where(member > 0, edge, n * k)  # or 1, of the row itself
            changes = z_row[1:] != z_row[:-1]
            yes = xp.ones((1,), dtype=xp.bool, device=where)
            begins, ends = xp.concat([yes, changes]), xp.concat([changes, yes])
            is_unshared = begins & ends & (member > 0)
            (unshared,), (shared,) = xp.nonzero(is_unshared), xp.nonzero(~is_unshared)

            begins = xp.astype(xp.take(begins, shared), xp.int64)
            place = xp.cumulative_sum(begins) - 1  # row of Z in this block, without the unshared
            row, member, pairs = (xp.take(each, shared) for each in (row, member, pair))
            unshared_pairs, unshared_sources = xp.take(pair, unshared), xp.take(source, unshared)
            shared_sources = xp.take(source, shared)
            parts.append((place + n_z, pairs, shared_sources, unshared_pairs, unshared_sources))
            block_z = int(place[-1]) + 1
            # Where each row's labels begin and end among the rows of Z.
            of_z = xp.take(row, xp.nonzero(begins)[0])
            bounds = xp.searchsorted(of_z, xp.arange(n_rows + 1, device=where))
            laid_out = _lay_out(xp, place * (k + 1) + member, pairs, bounds, k + 1, n_pairs)
            pattern = SparsePattern(unshared_sources - first * k, unshared_pairs, n_rows * k)
            ones = xp.ones(unshared.shape, dtype=xp.float64, device=where)
            self.blocks.append(DeviceBlock(rows, laid_out, pattern.matrix(ones)))
            n_z += block_z
        z_row, columns, self._sources, unshared_columns, self._unshared_sources = (
            xp.concat(arrays) for arrays in zip(*parts, strict=True)
        )
        self._factor = SparsePattern(z_row, columns, n_z)
        self._transposed = SparsePattern(columns, z_row, n_pairs)
        self._unshared = SparsePattern(unshared_columns, xp.zeros_like(unshared_columns), n_pairs)

    def roughness(self, weights: Array) -> DeviceRoughness:
        r"""The matrix of :math:`\|(I - W) P\|_F^2` for neighbor weights of shape (n, k)."""
        xp = array_namespace(weights)
        one = xp.ones((1,), dtype=weights.dtype, device=device(weights))
        entries = xp.concat([-xp.reshape(weights, (-1,)), one])
        values = xp.take(entries, self._sources)
        squares = xp.take(entries, self._unshared_sources) ** 2
        diagonal = self._unshared.matrix(squares) @ one
        return DeviceRoughness(
            self._factor.matrix(values), self._transposed.matrix(values), diagonal
        )

    def difference_grams(self, p: Array, block: DeviceBlock) -> Array:
        r"""Gram matrices of the differences between confidences of rows and of their neighbors.

        As :meth:`ambilearn.solvers.SupportGraph.difference_grams`; an array of shape (rows, k, k).
        """
        xp = array_namespace(p)
        n_rows, members, _ = block.laid_out.shape
        padded = xp.concat([p, xp.zeros((1,), dtype=p.dtype, device=device(p))])
        P = xp.reshape(xp.take(padded, xp.reshape(block.laid_out, (-1,))), block.laid_out.shape)
        differences = P[:, :1, :] - P[:, 1:, :]
        gram = xp.matmul(differences, xp.matrix_transpose(differences))
        # A label of a single neighbor contributes to the diagonal only.
        squares = xp.reshape(block.unshared @ (p * p), (n_rows, members - 1))
        identity = xp.eye(members - 1, dtype=p.dtype, device=device(p))
        return gram + squares[:, :, None] * identity


def restricted_matrix(graph: DeviceGraph, indptr: Array, labels: Array) -> GatheredMatrix:
    """Graph on the rows as a matrix on the support, of shape (n_pairs, n_pairs).

    The counterpart of :func:`ambilearn.backend.host.products.restrict_to_support`.
    """
    xp, where = array_namespace(labels), device(labels)
    n, n_labels, n_pairs = indptr.shape[0] - 1, int(xp.max(labels)) + 1, labels.shape[0]
    edge, pair = pairs_of_edges(indptr, graph.columns)
    owner = xp.repeat(xp.arange(n, device=where), indptr[1:] - indptr[:-1])
    keys = owner * n_labels + labels  # ascending
    wanted = xp.take(graph.rows, edge) * n_labels + xp.take(labels, pair)
    found = xp.searchsorted(keys, wanted)
    found = xp.where(found < n_pairs, found, n_pairs - 1)
    (shared,) = xp.nonzero(xp.take(keys, found) == wanted)
    own, pair, edge = (xp.take(each, shared) for each in (found, pair, edge))
    return SparsePattern(own, pair, n_pairs).matrix(xp.take(graph.weights, edge))


def _lay_out(
    xp: ModuleType, keys: Array, pairs: Array, bounds: Array, members: int, nothing: int
) -> Array:
    """Pair of each row, member and slot; ``keys`` are ascending: row of Z, then member."""
    where = device(keys)
    first, count = bounds[:-1], bounds[1:] - bounds[:-1]
    slots = xp.arange(int(xp.max(count)), device=where)[None, None, :]
    member = xp.arange(members, device=where)[None, :, None]
    wanted = (first[:, None, None] + slots) * members + member
    found = xp.searchsorted(keys, xp.reshape(wanted, (-1,)))
    found = xp.reshape(xp.where(found < keys.shape[0], found, keys.shape[0] - 1), wanted.shape)
    flat = xp.reshape(found, (-1,))
    is_shared = xp.reshape(xp.take(keys, flat), wanted.shape) == wanted
    is_shared = is_shared & (slots < count[:, None, None])
    return xp.where(is_shared, xp.reshape(xp.take(pairs, flat), wanted.shape), nothing)
