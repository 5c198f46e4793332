r"""A neighbor graph restricted to the candidate support, with one confidence per pair.

With *P* restricted to the candidates, :math:`(I - W) P` is a sparse matrix *Z* times the support
vector, and the differences between the confidences of a row and its neighbors involve only the
labels that occur among them. Both patterns depend only on the neighbors and are built once; no
array has size n·l.

Example: three rows with the candidates {a, b}, {b} and {a, c}, each a neighbor of both others. The
support has five pairs, numbered row by row, so *P* is the vector *p* below. *Z* has one row for
each row *i* and each label *j* of *i* or one of its neighbors:

.. code-block:: none

              a    b    c
    row 0    p_0  p_1   ·            neighbors of row 0: 1, 2
    row 1     ·   p_2   ·            neighbors of row 1: 0, 2
    row 2    p_3   ·   p_4           neighbors of row 2: 0, 1

    Z p      (0, a)    p_0 - w_02 p_3          shared by rows 0 and 2
             (0, b)    p_1 - w_01 p_2          shared by rows 0 and 1
             (0, c)        - w_02 p_4          unshared: only neighbor 2 has label c
             (1, a)        - w_10 p_0 - w_12 p_3
             (1, b)    p_2 - w_10 p_1
             (1, c)        - w_12 p_4          unshared
             (2, a)    p_3 - w_20 p_0
             (2, b)        - w_20 p_1 - w_21 p_2
             (2, c)    p_4                     only row 2 itself has label c

An unshared entry is the only one in its row of *Z*: it adds :math:`w^2` to the diagonal of
:math:`Z^\top Z` and has no other effect. In real data most entries are unshared.
"""

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.types import Array

_MAX_BLOCK_ROWS = 2048  # large enough to amortize Python's overhead, small enough for the cache
_MAX_BLOCK_VALUES = 2**22  # confidences in a block, if rows and neighbors have very many labels


class Roughness(NamedTuple):
    r"""The matrix :math:`Z^\top Z` of :math:`\|(I - W) P\|_F^2` in factored form; supports ``@``.

    Most rows of *Z* have one entry; they contribute only to the diagonal, which is stored.

    Parameters
    ----------
    factor, transposed : csr_arrays
        The rows of *Z* with several entries, and their transpose.
    diagonal : ndarray of shape (n_pairs,)
        Sum of squares of the other rows, by column.
    """

    factor: sparse.csr_array
    transposed: sparse.csr_array
    diagonal: NDArray[np.float64]

    def __matmul__(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.transposed @ (self.factor @ p)
        product += self.diagonal * p
        return product


class Block(NamedTuple):
    """Rows that are processed together, and the slices of their entries."""

    rows: slice
    shared: slice
    unshared: slice
    n_slots: int  # largest number of shared labels in a row


class SupportGraph:
    """The sparsity pattern of *Z*, for fixed neighbors.

    Row (i, j) of *Z* has 1 at the pair (i, j), if *j* is a candidate of *i*, and minus the weight
    of neighbor *a* at every pair (a, j). Zero rows of *Z* are omitted. An entry is *unshared* if
    neither another neighbor nor the row itself has its label; all others are *shared*.

    Parameters
    ----------
    indptr, labels : ndarrays
        The candidate pairs, as in :class:`~ambilearn.candidates.CandidateSets`.
    neighbor_indices : ndarray of shape (n, k)
        Indices of the neighbors of each row.

    Attributes
    ----------
    blocks : list of Block
        Consecutive rows, as many in a block as fit in the CPU cache.
    """

    def __init__(
        self,
        indptr: NDArray[np.intp],
        labels: NDArray[np.intp],
        neighbor_indices: NDArray[np.intp],
    ) -> None:
        n, k = neighbor_indices.shape
        sizes, n_labels = np.diff(indptr), int(labels.max()) + 1
        per_row = sizes + sizes[neighbor_indices].sum(axis=1)
        most = min(int(per_row.max()), n_labels)
        step = min(_MAX_BLOCK_ROWS, max(1, _MAX_BLOCK_VALUES // ((k + 1) * most)))
        dtype = sparse.get_index_dtype(maxval=int(per_row.sum()))
        self._n_neighbors, self._n_pairs = k, len(labels)
        self.blocks: list[Block] = []
        n_shared = n_unshared = 0
        parts = []
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            # Every row and its neighbors (member 0 is the row itself), with all their candidates.
            members = np.column_stack([np.arange(rows.start, rows.stop), neighbor_indices[rows]])
            edge, pair = pairs_of_edges(indptr, members.ravel())
            # Sort by row, label and member, all in one number.
            key = (edge // (k + 1) * n_labels + labels[pair]) * (k + 1) + edge % (k + 1)
            order = np.argsort(key)
            z_row, member = np.divmod(key[order], k + 1)  # row (i, j) of Z, and member
            row, pair = z_row // n_labels, pair[order]
            # Entry e of Z is −weights.ravel()[source[e]], or 1 where the source is the row itself.
            source = np.where(member > 0, (first + row) * k + member - 1, n * k)
            new = np.diff(z_row, prepend=-1, append=-1) != 0
            unshared = new[:-1] & new[1:] & (member > 0)
            shared = ~unshared
            begins = new[:-1][shared]
            # Entries of a row's own candidates are shared, so each row has a first shared entry.
            row, count = row[shared], np.cumsum(begins)
            slot = count - count[np.searchsorted(row, np.arange(len(members)))][row]
            n_slots = int(slot.max()) + 1
            place = (row * (k + 1) + member[shared]) * n_slots + slot
            arrays = (
                pair[shared], source[shared], place, n_shared + np.flatnonzero(begins),
                pair[unshared], source[unshared],
            )  # fmt: skip
            parts.append([array.astype(dtype) for array in arrays])
            ends = n_shared + len(row), n_unshared + len(pair) - len(row)
            self.blocks.append(
                Block(rows, slice(n_shared, ends[0]), slice(n_unshared, ends[1]), n_slots)
            )
            n_shared, n_unshared = ends
        joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        self._columns, self._sources, self._places, starts = joined[:4]
        self._starts = np.append(starts, dtype(n_shared))
        self._unshared_columns, self._unshared_sources = joined[4:]

    def roughness(self, weights: NDArray[np.float64]) -> Roughness:
        r"""The matrix of :math:`\|(I - W) P\|_F^2` for neighbor weights of shape (n, k)."""
        entries = np.append(-weights.ravel(), 1.0)
        parts = (entries[self._sources], self._columns.copy(), self._starts.copy())
        Z = sparse.csr_array(parts, shape=(len(self._starts) - 1, self._n_pairs))
        Z.eliminate_zeros()
        lengths = np.diff(Z.indptr)
        alone = Z.indptr[:-1][lengths == 1]
        columns = np.concatenate([Z.indices[alone], self._unshared_columns])
        squares = np.concatenate([Z.data[alone], entries[self._unshared_sources]]) ** 2
        # NumPy's type hints ignore that bincount with weights returns floats.
        diagonal: Array = np.bincount(columns, squares, minlength=self._n_pairs)
        # Sorted by length: branch prediction makes the product twice as fast.
        several = np.flatnonzero(lengths > 1)
        factor = Z[several[np.argsort(lengths[several], kind="stable")]]
        return Roughness(factor, factor.T.tocsr(), diagonal)

    def difference_grams(self, p: NDArray[np.float64], block: Block) -> NDArray[np.float64]:
        r"""Gram matrices of the differences between confidences of rows and of their neighbors.

        :math:`(B_i)_{ab} = \sum_j (P_{ij} - P_{aj}) (P_{ij} - P_{bj})`, from the support vector
        *p* that fills *P*; an array of shape (rows, k, k).
        """
        k, n_rows = self._n_neighbors, block.rows.stop - block.rows.start
        P = np.zeros((n_rows, k + 1, block.n_slots))
        P.ravel()[self._places[block.shared]] = p[self._columns[block.shared]]
        differences = P[:, :1] - P[:, 1:]
        gram: NDArray[np.float64] = differences @ differences.transpose(0, 2, 1)
        # A label of a single neighbor contributes only to the diagonal.
        squares = p[self._unshared_columns[block.unshared]] ** 2
        edges = self._unshared_sources[block.unshared] - block.rows.start * k
        diagonal = np.bincount(edges, squares, minlength=n_rows * k)
        gram[:, range(k), range(k)] += diagonal.reshape(n_rows, k)
        return gram


def pairs_of_edges(indptr: Array, targets: Array) -> tuple[Array, Array]:
    """One entry per edge and candidate of the target row: the edge and the pair."""
    xp, where = array_namespace(indptr), device(indptr)
    per_edge = xp.take(indptr[1:] - indptr[:-1], targets)
    edge = xp.repeat(xp.arange(targets.shape[0], device=where), per_edge)
    first = xp.repeat(xp.cumulative_sum(per_edge) - per_edge, per_edge)
    steps = xp.arange(edge.shape[0], device=where) - first
    return edge, xp.take(indptr, xp.take(targets, edge)) + steps
