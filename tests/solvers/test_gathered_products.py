import numpy as np
import pytest
from scipy import sparse

from ambilearn.solvers import gathered_products
from ambilearn.solvers.gathered_products import SparsePattern


def entries(seed=0, n_rows=30, n_columns=12, n_entries=150):
    rng = np.random.default_rng(seed)
    rows = rng.integers(n_rows, size=n_entries)
    rows[:40] = 3  # a long row among short ones
    rows = np.where(rows == 5, 6, rows)  # and an empty one
    return rows, rng.integers(n_columns, size=n_entries), rng.normal(size=n_entries)


@pytest.fixture(params=[0, 5, 10**6])
def padding(request, monkeypatch):
    """A layout for every power of two, a few, or one for all rows."""
    monkeypatch.setattr(gathered_products, "_MAX_PADDING", request.param)
    return request.param


def matrix(library, rows, columns, values, n_rows=30):
    return SparsePattern(library.to_device(rows), library.to_device(columns), n_rows).matrix(
        library.to_device(values)
    )


@pytest.mark.parametrize("shape", [(12,), (12, 4)])
def test_multiplies_like_scipy(library, padding, shape):
    rows, columns, values = entries()
    x = np.random.default_rng(1).normal(size=shape)
    expected = sparse.coo_array((values, (rows, columns)), shape=(30, 12)).tocsr() @ x
    found = matrix(library, rows, columns, values) @ library.to_device(x)
    np.testing.assert_allclose(library.to_host(found), expected, atol=1e-14)


def test_the_number_of_layouts(library, padding):
    rows, columns, _ = entries()
    n_layouts = len(SparsePattern(library.to_device(rows), library.to_device(columns), 30).layouts)
    assert n_layouts == 1 if padding == 10**6 else n_layouts > 1


def test_pattern_is_reused_for_many_values(library, padding):
    rows, columns, values = entries()
    pattern = SparsePattern(library.to_device(rows), library.to_device(columns), 30)
    ones = library.to_device(np.ones(12))
    once, twice = (
        library.to_host(pattern.matrix(library.to_device(c * values)) @ ones) for c in (1, 2)
    )
    np.testing.assert_allclose(twice, 2 * once, atol=1e-14)


def test_no_entries_at_all(library):
    nothing = np.empty(0, dtype=np.int64)
    found = matrix(library, nothing, nothing, np.empty(0)) @ library.to_device(np.ones(12))
    assert (library.to_host(found) == 0).all()
    assert found.shape == (30,)


def test_equal_inputs_give_identical_results(library, padding):
    rows, columns, values = entries()
    x = library.to_device(np.random.default_rng(1).normal(size=12))
    first, second = (library.to_host(matrix(library, rows, columns, values) @ x) for _ in range(2))
    np.testing.assert_array_equal(first, second)
