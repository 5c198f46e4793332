import numpy as np
import pytest

from ambilearn._utils import blocks
from ambilearn._utils.blocks import IN_CACHE, LIMIT, row_blocks
from ambilearn.backend import HOST, choose_backend


@pytest.mark.parametrize("n_rows", [0, 1, 6, 7, 8, 100])
@pytest.mark.parametrize("numbers_per_row", [1, 3, 50])
@pytest.mark.parametrize("limit", [1, 21, None])
def test_every_row_is_in_one_block(n_rows, numbers_per_row, limit):
    rows = np.arange(n_rows)
    found = [rows[block] for block in row_blocks(n_rows, numbers_per_row, limit=limit)]
    np.testing.assert_array_equal(np.concatenate([[], *found]), rows)
    assert all(len(block) for block in found)


@pytest.mark.parametrize(("numbers_per_row", "rows"), [(1, 21), (3, 7), (4, 5), (20, 1)])
def test_a_block_has_as_many_rows_as_the_limit_allows(numbers_per_row, rows):
    first, *_ = row_blocks(100, numbers_per_row, limit=21)
    assert first == slice(0, rows)


def test_row_larger_than_the_limit_is_one_block():
    assert list(row_blocks(2, 10, limit=3)) == [slice(0, 1), slice(1, 2)]


def test_rows_of_nothing():
    assert list(row_blocks(3, 0)) == [slice(0, 3)]


def test_without_a_limit():
    assert next(row_blocks(2 * LIMIT)) == slice(0, LIMIT)
    assert next(row_blocks(2 * LIMIT, 100)) == slice(0, LIMIT // 100)


def test_no_limit_exceeds_the_global_one():
    assert IN_CACHE < LIMIT
    assert next(row_blocks(3 * LIMIT, limit=2 * LIMIT)) == slice(0, LIMIT)


def test_one_name_makes_all_blocks_small(monkeypatch):
    """What tests of other modules rely on, whatever limit these give."""
    monkeypatch.setattr(blocks, "LIMIT", 4)
    assert next(row_blocks(10)) == slice(0, 4)
    assert next(row_blocks(10, 2, limit=IN_CACHE)) == slice(0, 2)
    assert next(row_blocks(10, limit=3)) == slice(0, 3)


def test_blocks_are_larger_on_a_device(library, monkeypatch):
    monkeypatch.setattr(blocks, "LIMIT", 4)
    monkeypatch.setattr(blocks, "ON_DEVICE", 40)
    X = np.ones((25, 2))
    on_device = library.to_device(X)
    assert len(list(HOST.blocks(X, 2))) == 13
    backend = choose_backend(on_device)
    assert list(backend.blocks(on_device, 2)) == [slice(0, 20), slice(20, 25)]
    assert len(list(backend.blocks(on_device, 1000))) == 25
