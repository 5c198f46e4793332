"""Blocks of rows, and threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ambilearn import PLCL, PLKNN, SURE
from ambilearn._utils import limits
from ambilearn._utils.limits import IN_CACHE, LIMIT, row_blocks, threads_for


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


@pytest.mark.parametrize("limit", [None, 2 * LIMIT])
def test_no_limit_exceeds_the_global_one(limit):
    assert IN_CACHE < LIMIT
    assert next(row_blocks(3 * LIMIT, limit=limit)) == slice(0, LIMIT)
    assert next(row_blocks(2 * LIMIT, 100, limit=limit)) == slice(0, LIMIT // 100)


def test_one_name_makes_all_blocks_small(monkeypatch):
    """What tests of other modules rely on, whatever limit these give."""
    monkeypatch.setattr(limits, "LIMIT", 4)
    assert next(row_blocks(10)) == slice(0, 4)
    assert next(row_blocks(10, 2, limit=IN_CACHE)) == slice(0, 2)
    assert next(row_blocks(10, limit=3)) == slice(0, 3)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def four_threads():
    """Four BLAS threads, also on a machine with one core."""
    limits._controller.cache_clear()  # another test may have loaded a library since
    if not blas_threads():
        pytest.skip("threadpoolctl does not know the threads of this BLAS")
    limit = threadpool_limits(4, user_api="blas")
    limits.release_control()
    yield
    limit.restore_original_limits()


def test_short_operations_use_one_thread(four_threads):
    before = blas_threads()
    with threads_for(1e6):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_long_operations_use_all_threads(four_threads):
    before = blas_threads()
    with threads_for(1e12):
        assert blas_threads() == before


def test_the_number_of_threads_is_restored_after_an_error(four_threads):
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), threads_for(1.0):
        1 / 0  # noqa: B018
    assert blas_threads() == before


def test_contexts_that_overlap_restore_the_number(four_threads):
    """As those of fits in several threads, which end in any order."""
    before = blas_threads()
    first, second = threads_for(1.0), threads_for(1.0)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_fits_in_threads_restore_the_number(four_threads):
    before = blas_threads()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20)), rng.integers(3, size=60)
    methods = PLKNN, SURE, PLCL
    with ThreadPoolExecutor(6) as pool:
        fits = [pool.submit(lambda m: m().fit(X, y).predict(X), m) for m in 10 * methods]
        assert all(len(fit.result()) == 60 for fit in fits)
    assert blas_threads() == before
