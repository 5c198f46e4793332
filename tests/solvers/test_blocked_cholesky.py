import numpy as np
import pytest

from ambilearn.solvers import blocked_cholesky
from ambilearn.solvers.blocked_cholesky import ShiftedFactor, factor_in_place


@pytest.fixture(params=[4, 7, 100])
def panel(request, monkeypatch):
    """Panels smaller than the matrix, one that does not divide it, and one larger than it."""
    monkeypatch.setattr(blocked_cholesky, "_PANEL", request.param)
    return request.param


def positive_definite(n=20, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


def test_factorization_is_in_place(library):
    matrix = library.to_device(positive_definite())
    assert factor_in_place(matrix).lower is matrix


def test_solves_like_a_general_solver(library, panel):
    M, C = positive_definite(), np.random.default_rng(1).normal(size=(20, 3))
    factor = factor_in_place(library.to_device(M.copy()))
    np.testing.assert_allclose(
        library.to_host(factor.solve(library.to_device(C))), np.linalg.solve(M, C), atol=1e-13
    )


def test_solve_does_not_change_its_input(library, panel):
    factor, C = (
        factor_in_place(library.to_device(positive_definite())),
        library.to_device(np.ones((20, 2))),
    )
    factor.solve(C)
    assert (library.to_host(C) == 1).all()


def test_both_triangles(library, panel):
    M, C = positive_definite(), np.random.default_rng(1).normal(size=(20, 3))
    factor, L = factor_in_place(library.to_device(M.copy())), np.linalg.cholesky(M)
    lower = library.to_host(factor.solve_lower(library.to_device(C)))
    upper = library.to_host(factor.solve_upper(library.to_device(C)))
    np.testing.assert_allclose(lower, np.linalg.solve(L, C), atol=1e-13)
    np.testing.assert_allclose(upper, np.linalg.solve(L.T, C), atol=1e-13)


def test_the_diagonal_of_the_inverse(library, panel):
    M = positive_definite()
    factor = factor_in_place(library.to_device(M.copy()))
    np.testing.assert_allclose(
        library.to_host(factor.inverse_diagonal()), np.diag(np.linalg.inv(M)), rtol=1e-12
    )


@pytest.mark.parametrize("bad", [2, 17])
def test_error_has_the_first_indefinite_minor(library, monkeypatch, bad):
    monkeypatch.setattr(blocked_cholesky, "_PANEL", 10)
    M = positive_definite()
    M[bad, bad] = -1.0
    with pytest.raises(ArithmeticError) as caught:
        factor_in_place(library.to_device(M))
    assert caught.value.args == (10 if bad < 10 else 20,)


@pytest.mark.parametrize("shift", [0.5, 50.0, -5.0])
def test_shifted_system_needs_no_second_factor(library, panel, shift):
    M, C = positive_definite(), np.random.default_rng(1).normal(size=(20, 3))
    factor = ShiftedFactor(factor_in_place(library.to_device(M.copy())), shift)
    found = library.to_host(factor.solve(library.to_device(C)))
    np.testing.assert_allclose(found, np.linalg.solve(M + shift * np.eye(20), C), atol=1e-12)


def test_zero_columns_have_zero_solutions(library):
    C = np.zeros((20, 2))
    C[:, 1] = 1.0
    factor = ShiftedFactor(factor_in_place(library.to_device(positive_definite())), 1.0)
    found = library.to_host(factor.solve(library.to_device(C)))
    assert (found[:, 0] == 0).all()
    assert np.isfinite(found).all()


def test_shifted_solve_takes_few_steps(library, monkeypatch):
    """Between λ and λ/α the condition number is 1/α, whatever that of the matrix."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20)
    M, C = K + 1e-3 * np.eye(60), np.random.default_rng(1).random((60, 3))
    assert np.linalg.cond(M) > 1e4
    factor = ShiftedFactor(factor_in_place(library.to_device(M.copy())), 1e-3)  # α = 1/2
    found = library.to_host(factor.solve(library.to_device(C), max_steps=20))
    np.testing.assert_allclose(found, np.linalg.solve(M + 1e-3 * np.eye(60), C), rtol=1e-7)
