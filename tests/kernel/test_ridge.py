import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import kernel_classifier
from problems import kernel_problem
from scipy import linalg

from ambilearn.kernel.leave_one_out import leverage_complements
from ambilearn.kernel.ridge import DualRidge
from ambilearn.solvers import cholesky, factorize_by_blocks


@pytest.mark.parametrize("reg", [1e-3, 0.03, 10.0])
def test_kernel_version_agrees_with_the_papers_formula(reg):
    _, K, P = kernel_problem(0)
    fit = DualRidge(K, reg).solve(P)
    A, b, H = kernel_classifier(K, P, 1 / (2 * reg))
    np.testing.assert_allclose(fit.coef, A / (2 * reg), atol=1e-9)
    np.testing.assert_allclose(fit.intercept, b, atol=1e-10)
    np.testing.assert_allclose(fit.fitted, H, atol=1e-10)


@given(st.integers(0, 10**6), st.floats(1e-3, 10))
def test_kernel_version_is_stationary(seed, reg):
    """Zero gradient in w and b: K(H − P + λA) = 0 and 1'(H − P) = 0; and H = KA + b."""
    _, K, P = kernel_problem(seed)
    fit = DualRidge(K, reg).solve(P)
    np.testing.assert_allclose(K @ fit.coef + fit.intercept, fit.fitted, atol=1e-9)
    np.testing.assert_allclose(K @ (fit.fitted - P + reg * fit.coef), 0, atol=1e-8)
    np.testing.assert_allclose((fit.fitted - P).sum(axis=0), 0, atol=1e-8)
    assert fit.squared_norm == pytest.approx(np.sum(fit.coef * (K @ fit.coef)), rel=1e-6)


@pytest.mark.parametrize("widths", [(1,), (3, 3), (1, 13, 2)])
@pytest.mark.parametrize("n", [3, 25, 400])
def test_targets_are_solved_independently(n, widths):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 6))
    ridge = DualRidge(X @ X.T, 0.1)
    targets = [rng.random((n, width)) for width in widths]
    together = ridge.solve(np.concatenate(targets, axis=1))
    for name in ("coef", "intercept", "fitted"):
        alone = [getattr(ridge.solve(each), name) for each in targets]
        np.testing.assert_allclose(
            getattr(together, name), np.concatenate(alone, axis=-1), atol=1e-10
        )


def test_bias_fits_constant_targets_exactly():
    _, K, P = kernel_problem(2)
    fit = DualRidge(K, 0.1).solve(np.full_like(P, 0.25))
    np.testing.assert_allclose(fit.intercept, 0.25)
    np.testing.assert_allclose(fit.coef, 0, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_kernel_matrix_is_unchanged_without_overwrite(order):
    _, K, P = kernel_problem(3)
    K = np.array(K, order=order)
    copy = K.copy()
    expected = DualRidge(K, 0.1).solve(P).fitted
    np.testing.assert_array_equal(K, copy)
    overwritten = DualRidge(K, 0.1, overwrite=True)
    assert np.shares_memory(overwritten.factor.lower, K)
    np.testing.assert_allclose(overwritten.solve(P).fitted, expected, atol=1e-10)


def test_indefinite_kernel_raises_an_error_with_advice():
    with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite.*Raise `reg`"):
        DualRidge(np.array([[1.0, 5.0], [5.0, 1.0]]), 0.1)


def test_row_with_tiny_weight_has_an_output():
    """As it is computed where a user gives the weight zero."""
    _, K, P = kernel_problem(4)
    v = np.ones(len(P))
    v[::3] = 1e-12
    fit = DualRidge(K, 0.1, row_weights=v).solve(P)
    np.testing.assert_allclose(fit.fitted, K @ fit.coef + fit.intercept, atol=1e-8)
    without = DualRidge(K[v == 1][:, v == 1], 0.1).solve(P[v == 1])
    np.testing.assert_allclose(fit.intercept, without.intercept, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("other", [0.2, 0.01])
def test_with_ridge_reuses_the_factor(library, other, weighted):
    rng = np.random.default_rng(0)
    X, P, v = rng.normal(size=(30, 4)), rng.random((30, 3)), rng.random(30) + 0.5
    K = X @ X.T
    expected = DualRidge(K, other, row_weights=v if weighted else None).solve(P)
    weights = library.to_device(v) if weighted else None
    factored = DualRidge(library.to_device(K.copy()), 0.1, True, weights, factorize_by_blocks)
    found = factored.with_ridge(other).solve(library.to_device(P))
    for name in ("coef", "intercept", "fitted"):
        np.testing.assert_allclose(
            library.to_host(getattr(found, name)), getattr(expected, name), atol=1e-8
        )
    again = factored.solve(library.to_device(P))  # which keeps its own ridge
    own = DualRidge(K, 0.1, row_weights=v if weighted else None).solve(P)
    np.testing.assert_allclose(library.to_host(again.fitted), own.fitted, atol=1e-9)


def test_indefinite_kernel_raises_the_same_error_on_a_device(library):
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        DualRidge(library.to_device(-np.eye(5)), 0.1, factorize=factorize_by_blocks)


def test_matrices_too_large_for_lapack_use_blocks(monkeypatch):
    """With 50 000 rows SciPy's factorization ends the process by a segmentation fault."""
    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(30, 4)), rng.random((30, 3))
    expected = DualRidge(X @ X.T, 0.1)
    monkeypatch.setattr(cholesky, "_MAX_LAPACK_ROWS", 29)
    monkeypatch.setattr(linalg.lapack, "dpotrf", None)
    found = DualRidge(X @ X.T, 0.1)
    for name in ("coef", "intercept", "fitted"):
        here, there = (getattr(each.solve(P), name) for each in (found, expected))
        np.testing.assert_allclose(here, there, atol=1e-11)
    np.testing.assert_allclose(leverage_complements(found), leverage_complements(expected))
    monkeypatch.undo()
    assert cholesky._MAX_LAPACK_ROWS**2 < 2**31
