"""From blocks as the data came to partitions of neighbouring rows, and back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ambilearn.distributed.blocks import RowBlocks, persist_now, stack
from ambilearn.distributed.locality import LocalityCells

_SAMPLE = 100  # rows per partition from which the cells are found
_SMALLEST = 0.25  # share of the mean size that a partition must have


@dataclass(frozen=True)
class Rows:
    """Some rows, their candidate sets and their numbers, ascending."""

    X: Any
    mask: sparse.csr_array
    numbers: NDArray[np.intp]

    def take(self, rows: Any) -> "Rows":
        """Some of them, by position."""
        return Rows(self.X[rows], self.mask[rows], self.numbers[rows])


@dataclass(frozen=True)
class _Cut:
    """The rows of a block, by cell; no mere list, in which Dask would look for tasks."""

    cells: list[Rows]


class Partitioning(NamedTuple):
    """Rows by neighbourhood.

    Parameters
    ----------
    rows : tuple of Delayed
        The :class:`Rows` of every partition, persisted.
    counts : ndarray of shape (n_blocks, n_partitions)
        How many rows each block gave to each partition.
    """

    rows: tuple[Delayed, ...]
    counts: NDArray[np.intp]


def partition_rows(
    data: RowBlocks, n_partitions: int, n_neighbors: int, random_state: Any
) -> Partitioning:
    """Send every row to the partition in which its neighbours are.

    Parameters
    ----------
    data : RowBlocks
        The rows.
    n_partitions : int
        How many partitions to aim at. There are fewer where the rows are few, more where some
        neighbourhood is very populous; one leaves the rows in their order.
    n_neighbors : int
        Every partition has more rows than this, if there are more at all.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Partitioning
    """
    n = data.shape[0]
    cells = None
    if n_partitions > 1:
        random = check_random_state(random_state)
        size = min(n, max(5000, _SAMPLE * n_partitions))
        sample = data[np.sort(random.choice(n, size, replace=False))]
        cells = LocalityCells(sample, n_partitions, random)
    shared = delayed(cells, traverse=False)
    blocks = [
        delayed(_split)(X, mask, start, shared)
        for X, mask, start in zip(data.rows, data.masks, data.starts[:-1], strict=True)
    ]
    blocks = persist_now(blocks)
    counts = np.stack(dask.compute(*(delayed(_sizes)(block) for block in blocks)))
    if cells is None:
        joined = np.zeros(1, dtype=np.intp)
    else:
        smallest = max(n_neighbors + 1, int(_SMALLEST * n / n_partitions))
        joined = cells.join(counts.sum(axis=0), smallest)

    members = [np.flatnonzero(joined == partition) for partition in range(joined.max() + 1)]
    counts = np.stack([counts[:, cells].sum(axis=1) for cells in members], axis=1)
    # Blocks without a row for a partition are not asked: ordered data hardly move.
    rows = _exchange(blocks, counts.T > 0, _cells, [(cells,) for cells in members], _join)
    # Wait for the move: a worker at work on one partition hardly answers who wants its rows.
    return Partitioning(persist_now(rows), counts)


def _exchange(
    sources: Sequence[Delayed],
    wanted: NDArray[np.bool_],
    pick: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    join: Callable[..., Any],
) -> list[Delayed]:
    """For every row of ``wanted`` join what is picked from the sources that it marks.

    There may be as many picks as blocks times partitions: in one graph, for Dask takes a
    millisecond for each delayed object.
    """
    name = f"{join.__name__}-{uuid4().hex}"
    tasks: dict[Any, Any] = {}
    for target, (asked, more) in enumerate(zip(wanted, arguments, strict=True)):
        picks = [(name, target, source) for source in np.flatnonzero(asked).tolist()]
        tasks |= {key: (pick, sources[key[2]].key, *more) for key in picks}
        tasks[name, target] = (join, *picks)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=sources)
    return [Delayed((name, target), graph, layer=name) for target in range(len(wanted))]


def _split(X: Any, mask: Any, start: int, cells: LocalityCells | None) -> _Cut:
    block = Rows(X, mask, start + np.arange(X.shape[0]))
    if cells is None:
        return _Cut([block])
    own = cells.assign(X) if X.shape[0] else block.numbers
    return _Cut([block.take(own == cell) for cell in range(len(cells.centres))])


def _sizes(block: _Cut) -> NDArray[np.intp]:
    return np.array([len(rows.numbers) for rows in block.cells])


def _cells(block: _Cut, cells: NDArray[np.intp]) -> Rows:
    return _join(*(block.cells[cell] for cell in cells))


def _join(*parts: Rows) -> Rows:
    """Parts of a partition in the order of their rows' numbers."""
    if len(parts) == 1:
        return parts[0]
    joined = Rows(
        stack([part.X for part in parts]),
        stack([part.mask for part in parts]),
        np.concatenate([part.numbers for part in parts]),
    )
    return joined.take(np.argsort(joined.numbers))


def restore_blocks(
    results: list[Delayed], counts: NDArray[np.intp], starts: NDArray[np.intp]
) -> list[Delayed]:
    """Results of the partitions in the order in which the rows came.

    Parameters
    ----------
    results : list of Delayed
        For each partition a tuple: the ascending row numbers, then matrices with a row for each.
    counts : ndarray of shape (n_blocks, n_partitions)
        From :func:`partition_rows`.
    starts : ndarray of shape (n_blocks + 1,)
        Number of the first row of every block, and the number of rows.

    Returns
    -------
    blocks : list of Delayed
        For each block a tuple of matrices.
    """
    wanted = counts > 0
    wanted[~wanted.any(axis=1), 0] = True  # an empty block gets its no rows from somewhere
    spans = list(pairwise(starts.tolist()))
    return _exchange(results, wanted, _between, spans, _in_order)


def _between(result: tuple[Any, ...], first: int, last: int) -> tuple[Any, ...]:
    numbers = result[0]
    rows = slice(*np.searchsorted(numbers, (first, last)))
    return tuple(array[rows] for array in result)


def _in_order(*parts: tuple[Any, ...]) -> tuple[Any, ...]:
    numbers, *matrices = (stack(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(numbers)
    return tuple(matrix[order] for matrix in matrices)
