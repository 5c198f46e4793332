import os

import dask
import dask.array as da
import numpy as np
import pytest
from dask import delayed
from scipy import sparse
from sklearn.datasets import load_digits

from ambilearn.distributed.blocks import RowBlocks
from ambilearn.distributed.partitions import (
    LocalityCells,
    _exchange,
    partition_rows,
    restore_blocks,
)
from ambilearn.graph.neighbors import NeighborSearch

pytestmark = pytest.mark.usefixtures("here")


def cut(groups, blocks, n_partitions, size=50, n_neighbors=10, make=None):
    X, Y, _ = groups()
    X = X if make is None else make(X)
    data = RowBlocks(blocks(X, size), blocks(Y, 70))
    return X, Y, data, partition_rows(data, n_partitions, n_neighbors, random_state=0)


def test_every_row_is_in_one_partition_with_its_candidates(groups, blocks):
    X, Y, _, made = cut(groups, blocks, 3)
    partitions = dask.compute(*made.rows)
    numbers = np.concatenate([rows.numbers for rows in partitions])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(240))
    for rows in partitions:
        assert np.all(np.diff(rows.numbers) > 0)
        np.testing.assert_array_equal(rows.X, X[rows.numbers])
        np.testing.assert_array_equal(rows.mask.toarray(), Y[rows.numbers])


def test_one_partition_keeps_the_order(groups, blocks):
    X, Y, _, made = cut(groups, blocks, 1)
    (rows,) = dask.compute(*made.rows)
    np.testing.assert_array_equal(rows.X, X)
    np.testing.assert_array_equal(rows.mask.toarray(), Y)


def test_partitions_are_neighborhoods(groups, blocks):
    X, _, _, made = cut(groups, blocks, 4)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    within = sum(
        np.sum((unit[r.numbers] - unit[r.numbers].mean(axis=0)) ** 2)
        for r in dask.compute(*made.rows)
    )
    assert within < 0.6 * np.sum((unit - unit.mean(axis=0)) ** 2)


@pytest.mark.parametrize("n_neighbors", [10, 60, 500])
def test_every_partition_has_more_rows_than_neighbors(groups, blocks, n_neighbors):
    *_, made = cut(groups, blocks, 12, n_neighbors=n_neighbors)
    sizes = made.counts.sum(axis=0)
    assert sizes.sum() == 240
    assert sizes.min() > n_neighbors or len(sizes) == 1


def test_ordered_blocks_do_not_move(groups, blocks):
    X = np.repeat(np.eye(3), 40, axis=0) + 1e-3 * np.random.default_rng(0).normal(size=(120, 3))
    data = RowBlocks(blocks(X, 40), np.repeat([0, 1, 2], 40))
    made = partition_rows(data, 3, 10, random_state=0)
    assert np.count_nonzero(made.counts) == 3


def test_rows_that_are_all_the_same_are_one_partition(blocks):
    data = RowBlocks(blocks(np.ones((60, 2)), 20), np.arange(60) % 3)
    assert partition_rows(data, 4, 5, random_state=0).counts.sum(axis=0).tolist() == [60]


def test_sparse_rows(groups, blocks):
    *_, made = cut(groups, blocks, 3)
    *_, of_sparse = cut(groups, lambda a, r: sparse_blocks(blocks(a, r)), 3)
    for dense, rows in zip(dask.compute(*made.rows), dask.compute(*of_sparse.rows), strict=True):
        np.testing.assert_array_equal(rows.numbers, dense.numbers)
        np.testing.assert_allclose(rows.X.toarray(), dense.X)


def sparse_blocks(array):
    return array if array.dtype == bool else array.map_blocks(sparse.csr_matrix)


def test_results_come_back_in_the_order_of_the_rows(groups, blocks):
    X, _, data, made = cut(groups, blocks, 4)
    results = [delayed(lambda rows: (rows.numbers, rows.X, -rows.X))(rows) for rows in made.rows]
    restored = dask.compute(*restore_blocks(results, made.counts, data.starts))
    assert [len(block[0]) for block in restored] == [50, 50, 50, 50, 40]
    np.testing.assert_array_equal(np.concatenate([block[0] for block in restored]), X)
    np.testing.assert_array_equal(np.concatenate([block[1] for block in restored]), -X)


def test_empty_blocks_come_back_empty(groups):
    X, Y, _ = groups()
    data = RowBlocks(da.from_array(X, chunks=((0, 100, 0, 140), 5)), Y)
    made = partition_rows(data, 2, 10, random_state=0)
    results = [delayed(lambda rows: (rows.numbers, rows.X))(rows) for rows in made.rows]
    restored = dask.compute(*restore_blocks(results, made.counts, data.starts))
    assert [len(block[0]) for block in restored] == [0, 100, 0, 140]
    np.testing.assert_array_equal(restored[3][0], X[100:])


def test_without_a_cluster_rows_are_exchanged_in_this_process():
    """Other processes would get copies of the rows, and need a script with a main guard."""
    sources = [delayed(np.arange)(3), delayed(np.arange)(4)]
    with dask.config.set(scheduler=None):
        joined = _exchange(sources, np.ones((2, 2), bool), process_id, [(), ()], list_of)
    assert dask.compute(*joined) == ([os.getpid()] * 2,) * 2


def process_id(rows):
    return os.getpid()


def list_of(*picked):
    return list(picked)


# ---- cells


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:600]


def kept(cells, neighbor_indices):
    return np.mean(cells[neighbor_indices] == cells[:, None])


def test_neighbors_stay_together(digits):
    cells = LocalityCells(digits, 6, random_state=0).assign(digits)
    unit = digits / np.linalg.norm(digits, axis=1, keepdims=True)
    neighbor_indices = NeighborSearch("exact").fit(unit, 10)
    by_chance = kept(np.random.default_rng(0).permutation(cells), neighbor_indices)
    assert kept(cells, neighbor_indices) > 0.8 > 4 * by_chance


def test_large_cells_are_split():
    rng = np.random.default_rng(0)
    crowd = [1.0, 0, 0] + 0.05 * rng.normal(size=(900, 3))
    others = np.repeat(np.eye(3)[1:], 50, axis=0) + 0.05 * rng.normal(size=(100, 3))
    X = np.concatenate([crowd, others])
    sizes = np.bincount(LocalityCells(X, 4, random_state=0).assign(X))
    assert len(sizes) > 4
    assert sizes.max() <= 1.5 * 1000 / 4


def test_never_more_cells_than_half_of_the_rows():
    assert len(LocalityCells(np.eye(5), 50, random_state=0).centers) <= 4
    assert len(LocalityCells(np.ones((1, 2)), 3, random_state=0).centers) == 1


def test_the_seed_determines_the_result(digits):
    first, again, other = (
        LocalityCells(digits, 6, random_state=seed).assign(digits) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.fixture
def on_a_circle():
    """Cells around 0°, 20°, 90° and 110°."""
    angles = np.deg2rad([0, 20, 90, 110])
    cells = LocalityCells(np.eye(2), 1)
    cells.centers = np.column_stack([np.cos(angles), np.sin(angles)])
    return cells


@pytest.mark.parametrize(
    ("sizes", "smallest", "expected"),
    [
        ([9, 9, 9, 9], 5, [0, 1, 2, 3]),  # large enough
        ([9, 2, 9, 9], 5, [0, 0, 1, 2]),  # the small one goes to its neighbor
        ([9, 9, 0, 9], 5, [0, 1, 2, 2]),  # also when it is empty
        ([2, 2, 9, 9], 5, [0, 0, 0, 1]),  # two small ones, still too small together
        ([1, 1, 1, 1], 9, [0, 0, 0, 0]),  # too few rows for anything
    ],
)
def test_small_cells_are_joined(on_a_circle, sizes, smallest, expected):
    assert on_a_circle.join(np.array(sizes), smallest).tolist() == expected
