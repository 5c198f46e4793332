from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ambilearn import PLCL, PLKNN, SURE
from ambilearn._utils import threads
from ambilearn._utils.threads import threads_for


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def four_threads():
    """Four BLAS threads, also on a machine with one core."""
    threads._controller.cache_clear()  # another test may have loaded a library since
    if not blas_threads():
        pytest.skip("threadpoolctl does not know the threads of this BLAS")
    limit = threadpool_limits(4, user_api="blas")
    threads.release_control()
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


@pytest.mark.parametrize("worth", [0.0, np.inf])
def test_results_do_not_depend_on_it(monkeypatch, worth):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(3, size=80)
    expected = PLCL().fit(X, y).decision_function(X)
    monkeypatch.setattr(threads, "_MIN_OPERATIONS", worth)
    np.testing.assert_allclose(PLCL().fit(X, y).decision_function(X), expected, atol=1e-6)
