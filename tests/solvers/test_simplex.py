import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_mask, support

from ambilearn.backend import choose_backend
from ambilearn.base import project_rows
from ambilearn.solvers import CandidateSimplex


@pytest.mark.parametrize("seed", range(5))
def test_support_projection_equals_masked_rows(seed):
    """Rows of unequal length, one of them perhaps with all labels."""
    rng = np.random.default_rng(seed)
    mask = random_mask(rng, 30, 13, extra=seed / 10)
    mask[0] = seed < 2 or mask[0]
    sets = support(mask)
    values = rng.normal(size=mask.shape)
    projected = CandidateSimplex(sets.indptr).project(sets.gather(values))
    np.testing.assert_allclose(
        sets.scatter(projected), project_rows(np.where(mask, values, -np.inf)), atol=1e-14
    )


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 100))
def test_projection_does_not_depend_on_near(seed, extra, scale):
    """Any point of the simplices may be given as near: a corner, the answer itself, or neither."""
    rng = np.random.default_rng(seed)
    mask = random_mask(rng, 20, 9, extra)
    sets = support(mask)
    simplex = CandidateSimplex(sets.indptr)
    values = scale * rng.normal(size=mask.shape)
    v, expected = sets.gather(values), sets.gather(project_rows(np.where(mask, values, -np.inf)))
    corner = np.zeros_like(v)
    corner[sets.indptr[:-1]] = 1
    tried = [None, corner, expected, sets.uniform(), simplex.project(rng.normal(size=v.shape))]
    for near in tried:
        np.testing.assert_allclose(simplex.project(v, near), expected, atol=1e-12)


def test_nan_is_kept():
    projected = CandidateSimplex(np.array([0, 2, 4])).project(np.array([np.nan, 0.2, 0.3, 0.9]))
    assert np.isnan(projected[:2]).any()
    np.testing.assert_allclose(projected[2:], [0.2, 0.8])


@pytest.mark.parametrize("backend", [np, strict], ids=["numpy", "array_api_strict"])
@pytest.mark.parametrize("far", [1e5, -1e7, 1e12, -1e15, 1e16, 3e16, -1e18, 1e75, -1e150])
def test_large_values_on_the_support(backend, far):
    """Rows of different magnitude and sign, some of equal values whose sum is not exact."""
    rng = np.random.default_rng(0)
    mask = random_mask(rng, 40, 7)
    values = far + rng.normal(size=mask.shape)
    values[:8], values[8:16], values[16:24] = far, far * rng.normal(size=(8, 7)), values[:8] / 3
    values[24:30] -= far
    sets = choose_backend(backend.zeros(1)).support(support(mask).sets)
    expected = project_rows(np.where(mask, values, -np.inf))
    for near in (None, sets.prior()):
        with np.errstate(all="raise"):
            found = sets.simplex.project(sets.gather(backend.asarray(values)), near)
        np.testing.assert_allclose(np.asarray(sets.scatter(found)), expected, atol=1e-9)


def test_a_row_of_large_values_sums_to_one():
    projected = CandidateSimplex(np.array([0, 3, 5])).project(np.array([-1e18, -3e18, -2e18, 4, 3]))
    assert projected.tolist() == [1, 0, 0, 1, 0]


def test_large_values_do_not_change_the_other_rows():
    rng = np.random.default_rng(0)
    values, indptr = 1e3 * rng.normal(size=60), np.arange(0, 61, 3)
    alone = CandidateSimplex(indptr).project(values)
    both = CandidateSimplex(np.append(indptr, [62, 64]))
    beside = both.project(np.append(values, [1e17, 3.0, -1e9, -2e9]))
    np.testing.assert_array_equal(beside, np.append(alone, [1, 0, 1, 0]))


def test_singletons_are_one():
    simplex = CandidateSimplex(np.array([0, 1, 2, 3]))
    assert (simplex.project(np.array([-3.0, 0.0, 99.0])) == 1).all()


@pytest.mark.array_library
def test_runs_in_another_array_namespace():
    rng = np.random.default_rng(0)
    mask = random_mask(rng, 12, 6)
    sets = support(mask)
    values = rng.normal(size=sets.indptr[-1])
    simplex = CandidateSimplex(sets.indptr)
    there = (
        choose_backend(strict.zeros(1)).support(sets.sets).simplex.project(strict.asarray(values))
    )
    np.testing.assert_allclose(np.asarray(there), simplex.project(values), atol=1e-15)
