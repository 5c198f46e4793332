"""Convert blocks of rows in input order to partitions of neighboring rows, and back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from dask import delayed, threaded
from dask.bag import Bag
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.utils import check_random_state

from ambilearn._utils.limits import threads_for
from ambilearn._utils.types import Array, Matrix, RandomState
from ambilearn.backend.host.neighbors import unit_rows
from ambilearn.distributed.blocks import (
    Parts,
    RowBlocks,
    attribute_bytes,
    persist_in_turn,
    persist_now,
    stack,
)
from ambilearn.kernel.landmarks import kmeans_centers

_SAMPLE = 100  # sampled rows per partition for k-means
_LARGEST = 1.5  # cells larger than this multiple of the mean are split in two
_SMALLEST = 0.25  # minimum size of a partition, relative to the mean


class LocalityCells:
    """Cells of unit-length rows around centers; the graph of PL-CL uses unit-length rows.

    Parameters
    ----------
    sample : array or sparse matrix of shape (n, d)
        Sample of all rows.
    n_cells : int
        Number of clusters of k-means, at most half the number of rows. Cells with more than 1.5
        times the mean number of rows are split, so there can be more cells.
    random_state : int, RandomState or None
        Seed of k-means.

    Attributes
    ----------
    centers : ndarray of shape (n_cells, d)
    """

    def __init__(self, sample: Matrix, n_cells: int, random_state: RandomState = None) -> None:
        random = check_random_state(random_state)
        Z = unit_rows(sample)
        n_cells = max(1, min(n_cells, Z.shape[0] // 2))
        self.centers = kmeans_centers(Z, n_cells, random)
        for _ in range(n_cells):
            cells = self._nearest(Z)
            largest = np.argmax(np.bincount(cells))
            members = np.flatnonzero(cells == largest)
            if len(members) <= _LARGEST * len(cells) / n_cells:
                break
            halves = kmeans_centers(Z[members], 2, random)
            others = np.delete(self.centers, largest, axis=0)
            self.centers = np.concatenate([others, halves])

    def assign(self, X: Matrix) -> NDArray[np.intp]:
        """Cell of every row of X, an array or sparse matrix of shape (n, d)."""
        return self._nearest(unit_rows(X))

    def _nearest(self, Z: Matrix) -> NDArray[np.intp]:
        with threads_for(0):  # scikit-learn sets and restores the number, too, without a lock
            nearest: NDArray[np.intp] = pairwise_distances_argmin(Z, self.centers)
        return nearest

    def join(self, sizes: NDArray[np.intp], smallest: int) -> NDArray[np.intp]:
        """Partition of every cell, numbered from 0: small cells are merged with the nearest cell.

        ``sizes`` are the numbers of rows of the cells. A partition has at least ``smallest`` rows,
        if there are that many.
        """
        partitions = np.arange(len(sizes))
        distances = pairwise_distances(self.centers)
        while True:
            present, cells = np.unique(partitions, return_inverse=True)
            totals = np.bincount(cells, sizes)
            small = np.argmin(totals)
            if totals[small] >= smallest or len(present) == 1:
                return cells
            inside = cells == small
            away = np.where(inside[:, None] & ~inside, distances, np.inf)
            nearest = np.unravel_index(np.argmin(away), away.shape)[1]
            partitions[inside] = partitions[nearest]


@dataclass(frozen=True)
class PartitionRows:
    """Rows with their candidate sets, ascending row numbers, and optional weights."""

    X: Matrix
    mask: sparse.csr_array
    numbers: NDArray[np.intp]
    weights: NDArray[np.float64] | None = None

    def take(self, rows: Array | slice) -> "PartitionRows":
        """Subset of the rows, by position."""
        weights = None if self.weights is None else self.weights[rows]
        return PartitionRows(self.X[rows], self.mask[rows], self.numbers[rows], weights)


sizeof.register(PartitionRows, attribute_bytes)


class Partitioning(NamedTuple):
    """Rows grouped into partitions of neighbors.

    Parameters
    ----------
    rows : tuple of Delayed
        The :class:`PartitionRows` of every partition, persisted.
    counts : ndarray of shape (n_blocks, n_partitions)
        Number of rows of each block in each partition.
    """

    rows: tuple[Delayed, ...]
    counts: NDArray[np.intp]


def partition_rows(
    data: RowBlocks, n_partitions: int, n_neighbors: int, random_state: RandomState
) -> Partitioning:
    """Move every row to the partition of its neighbors.

    There are fewer partitions than ``n_partitions`` if there are few rows, and more if some
    neighborhoods are very large. Every partition has more than ``n_neighbors`` rows, if there are
    more rows. A single partition keeps the order of the rows.
    """
    owners, counts = _choose_owners(data, n_partitions, n_neighbors, random_state)
    blocks = [
        delayed(_number)(X, mask, start, weights, owner)
        for X, mask, start, weights, owner in zip(
            data.rows, data.masks, data.starts[:-1], data.weights, owners, strict=True
        )
    ]
    # Only blocks with rows of a partition take part: sorted data are hardly moved.
    rows = _exchange(
        blocks, counts.T > 0, _belonging, [(p,) for p in range(counts.shape[1])], _join
    )
    # Wait for the exchange: a worker that is computing responds slowly to requests for rows.
    return Partitioning(persist_in_turn(rows), counts)


def _choose_owners(
    data: RowBlocks, n_partitions: int, n_neighbors: int, random_state: RandomState
) -> tuple[list[Delayed], NDArray[np.intp]]:
    """Partition of every row of every block, and number of rows of each block per partition."""
    n, sizes = data.shape[0], np.diff(data.starts)
    if n_partitions == 1:
        return [delayed(np.zeros)(size, dtype=np.intp) for size in sizes], sizes[:, None]
    random = check_random_state(random_state)
    sample = random.choice(n, min(n, max(5000, _SAMPLE * n_partitions)), replace=False)
    cells = LocalityCells(data[np.sort(sample)], n_partitions, random)
    shared, n_cells = delayed(cells, traverse=False), len(cells.centers)
    nearest = persist_now(delayed(_assign)(X, shared) for X in data.rows)
    counts = np.stack(dask.compute(*(delayed(np.bincount)(own, None, n_cells) for own in nearest)))
    smallest = max(n_neighbors + 1, int(_SMALLEST * n / n_partitions))
    joined = cells.join(counts.sum(axis=0), smallest)
    into = np.eye(joined.max() + 1, dtype=np.intp)[joined]
    shared = delayed(joined, traverse=False)
    return [delayed(np.take)(shared, own) for own in nearest], counts @ into


class _Picks(Bag):
    """A bag that uses threads if there is no cluster: processes would copy the rows."""

    __dask_scheduler__ = staticmethod(threaded.get)


def _exchange(
    sources: Sequence[Delayed],
    wanted: NDArray[np.bool_],
    pick: Callable[..., Any],
    arguments: Sequence[Parts],
    join: Callable[..., Any],
) -> list[Delayed]:
    """For every row of ``wanted``, join the parts picked from the marked sources.

    All picks are computed before the first join, so that each source is computed, used and
    released: all sources together can exceed memory, and Dask would keep each of them until the
    last join. The number of picks is up to blocks times partitions; they are one collection because
    Dask needs a millisecond per delayed object.
    """
    name = f"{pick.__name__}-{uuid4().hex}"
    tasks: dict[Any, Any] = {
        (name, i): (pick, sources[origin].key, *arguments[target])
        for i, (target, origin) in enumerate(np.argwhere(wanted).tolist())
    }
    needed: Sequence[Any] = sources  # Dask's type hints exclude Delayed from collections
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=needed)
    # Without optimization: fused tasks would reuse names of other tasks on the cluster.
    (picked,) = persist_now([_Picks(graph, name, len(tasks))], optimize_graph=False)

    joined = f"{join.__name__}-{uuid4().hex}"
    ends = np.cumsum(np.append(0, np.count_nonzero(wanted, axis=1))).tolist()
    tasks = {
        (joined, target): (join, *((name, i) for i in range(first, last)))
        for target, (first, last) in enumerate(pairwise(ends))
    }
    graph = HighLevelGraph.from_collections(joined, tasks, dependencies=[picked])
    return [Delayed(key, graph, layer=joined) for key in tasks]


def _assign(X: Matrix, cells: LocalityCells) -> NDArray[np.intp]:
    return cells.assign(X) if X.shape[0] else np.empty(0, dtype=np.intp)


def _number(
    X: Matrix, mask: Matrix, start: int, weights: Array | None, owners: NDArray[np.intp]
) -> tuple[PartitionRows, Array]:
    return PartitionRows(X, mask, start + np.arange(X.shape[0]), weights), owners


def _belonging(block: tuple[PartitionRows, NDArray[np.intp]], partition: int) -> PartitionRows:
    rows, owners = block
    return rows.take(owners == partition)


def _join(*parts: PartitionRows) -> PartitionRows:
    """Join the parts of a partition, ordered by row number."""
    if len(parts) == 1:
        return parts[0]
    weights = [part.weights for part in parts if part.weights is not None]
    joined = PartitionRows(
        stack([part.X for part in parts]),
        stack([part.mask for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        np.concatenate(weights) if weights else None,
    )
    return joined.take(np.argsort(joined.numbers))


def restore_blocks(
    results: list[Delayed], counts: NDArray[np.intp], starts: NDArray[np.intp]
) -> list[Delayed]:
    """Results of the partitions in the input order of the rows, as a tuple of matrices per block.

    Each result is a tuple: the ascending row numbers of a partition, then matrices with these rows.
    ``counts`` comes from :func:`partition_rows`, and ``starts`` has the number of the first row of
    every block, and the number of rows.
    """
    wanted = counts > 0
    wanted[~wanted.any(axis=1), 0] = True  # an empty block takes zero rows of partition 0
    spans = list(pairwise(starts.tolist()))
    return _exchange(results, wanted, _between, spans, _in_order)


def _between(result: Parts, first: int, last: int) -> Parts:
    numbers = result[0]
    rows = slice(*np.searchsorted(numbers, (first, last)))
    return tuple(array[rows] for array in result)


def _in_order(*parts: Parts) -> Parts:
    numbers, *matrices = (stack(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(numbers)
    return tuple(matrix[order] for matrix in matrices)
