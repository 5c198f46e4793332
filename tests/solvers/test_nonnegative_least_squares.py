import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, nnls

from ambilearn.solvers.nonnegative_least_squares import solve_nonnegative_least_squares


def problem(seed, n=20, k=6, d=10, shift=0.4):
    """Neighbors Z of shape (n, k, d) and rows x to rebuild from them, and their inner products."""
    rng = np.random.default_rng(seed)
    Z, x = rng.normal(shift, 1, size=(n, k, d)), rng.normal(shift, 1, size=(n, d))
    return Z, x, Z @ Z.transpose(0, 2, 1), np.einsum("nkd,nd->nk", Z, x)


@pytest.mark.parametrize(("k", "d"), [(1, 3), (2, 5), (6, 10), (10, 100), (25, 40)])
def test_agrees_with_scipy(k, d):
    Z, x, gram, products = problem(k, k=k, d=d)
    solution = solve_nonnegative_least_squares(gram, products)
    assert solution.is_optimal
    expected = [nnls(z.T, row)[0] for z, row in zip(Z, x, strict=True)]
    np.testing.assert_allclose(solution.value, expected, atol=1e-7)
    if k > 2:  # the constraint is at work
        assert 0.05 < np.mean(solution.value == 0) < 0.95


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 15), st.floats(-1, 1))
def test_feasible_and_optimal(seed, k, d, shift):
    """KKT: the slope Bw − c is zero where w > 0 and not negative elsewhere."""
    _, x, gram, products = problem(seed, n=8, k=k, d=d, shift=shift)
    solution = solve_nonnegative_least_squares(gram, products)
    w = solution.value
    assert (w >= 0).all()
    slope = (gram @ w[:, :, None])[:, :, 0] - products
    lengths = np.trace(gram, axis1=1, axis2=2) / k
    tolerance = 1e-7 * (np.linalg.norm(x, axis=1) * np.sqrt(lengths) + lengths)[:, None]
    assert (slope >= -tolerance).all()
    assert (np.abs(slope) <= tolerance)[w > 0].all()
    assert solution.residual <= 1e-8


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 6))
def test_residual_is_smallest_even_where_the_weights_are_not_unique(seed, k, d):
    Z, x, gram, products = problem(seed, n=6, k=k, d=d)
    w = solve_nonnegative_least_squares(gram, products).value
    residuals = np.linalg.norm(x - np.einsum("nk,nkd->nd", w, Z), axis=1)
    # Not nnls: in SciPy 1.15 it says 0 of some residuals that are not.
    found = [lsq_linear(z.T, row, (0, np.inf), method="bvls") for z, row in zip(Z, x, strict=True)]
    expected = [np.sqrt(2 * each.cost) for each in found]
    np.testing.assert_allclose(residuals, expected, atol=1e-4)


def test_duplicate_neighbors_share_the_weight():
    z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    w = solve_nonnegative_least_squares((z @ z.T)[None], (z @ [0.6, 0.2])[None]).value[0]
    np.testing.assert_allclose(w, [0.3, 0.3, 0.2], atol=1e-6)


@pytest.mark.parametrize("products", [[-1.0, -2.0], [0.0, 0.0]])
def test_useless_neighbors_have_zero_weight(products):
    solution = solve_nonnegative_least_squares(np.eye(2)[None], np.array([products]))
    assert (solution.value == 0).all()
    assert solution.is_optimal


def test_zero_neighbors_have_zero_weight():
    solution = solve_nonnegative_least_squares(np.zeros((2, 3, 3)), np.zeros((2, 3)))
    assert (solution.value == 0).all()


@pytest.mark.parametrize(("rows", "neighbor_indices"), [(1e-8, 1.0), (1.0, 1e8), (1e9, 1e-9)])
def test_scales_do_not_matter(rows, neighbor_indices):
    _, _, gram, products = problem(3)
    expected = solve_nonnegative_least_squares(gram, products).value
    scaled = solve_nonnegative_least_squares(
        neighbor_indices**2 * gram, rows * neighbor_indices * products
    )
    np.testing.assert_allclose(scaled.value * neighbor_indices / rows, expected, atol=1e-9)


def test_step_limit_is_reported_and_the_result_feasible():
    _, _, gram, products = problem(0, k=10, d=30)
    solution = solve_nonnegative_least_squares(gram, products, max_steps=2)
    assert not solution.is_optimal
    assert solution.steps == 2
    assert solution.residual > 1e-6
    assert (solution.value >= 0).all()


def test_runs_in_another_array_namespace():
    _, _, gram, products = problem(1)
    there = solve_nonnegative_least_squares(strict.asarray(gram), strict.asarray(products))
    here = solve_nonnegative_least_squares(gram, products)
    np.testing.assert_allclose(np.asarray(there.value), here.value, atol=1e-12)
