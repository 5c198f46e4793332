import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from ambilearn.distributed.locality import LocalityCells
from ambilearn.graph.neighbors import NeighborSearch


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


def test_length_of_a_row_does_not_matter(digits):
    scale = np.random.default_rng(0).uniform(0.1, 10, size=(len(digits), 1))
    found = LocalityCells(digits, 4, random_state=0)
    np.testing.assert_array_equal(found.assign(digits), found.assign(scale * digits))


def test_large_cells_are_split():
    rng = np.random.default_rng(0)
    crowd = [1.0, 0, 0] + 0.05 * rng.normal(size=(900, 3))
    others = np.repeat(np.eye(3)[1:], 50, axis=0) + 0.05 * rng.normal(size=(100, 3))
    X = np.concatenate([crowd, others])
    sizes = np.bincount(LocalityCells(X, 4, random_state=0).assign(X))
    assert len(sizes) > 4
    assert sizes.max() <= 1.5 * 1000 / 4


def test_few_distinct_rows_are_supported():
    X = np.repeat(np.eye(3), 10, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells = LocalityCells(X, 7, random_state=0).assign(X)
    assert [len(set(cells[i : i + 10])) for i in (0, 10, 20)] == [1, 1, 1]
    assert len(set(cells)) == 3


def test_never_more_cells_than_half_of_the_rows():
    assert len(LocalityCells(np.eye(5), 50, random_state=0).centers) <= 4
    assert len(LocalityCells(np.ones((1, 2)), 3, random_state=0).centers) == 1


def test_sparse_rows_get_the_same_cells(digits):
    dense = LocalityCells(digits, 5, random_state=0).assign(digits)
    rows = sparse.csr_array(digits)
    np.testing.assert_array_equal(LocalityCells(rows, 5, random_state=0).assign(rows), dense)


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
