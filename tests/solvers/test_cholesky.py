"""LAPACK routines through ctypes: the same results as SciPy's, and other threads run meanwhile."""

import ctypes

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.linalg import lapack as scipy_lapack

from ambilearn.solvers import ShiftedFactor, cholesky, factorize_by_lapack


@pytest.fixture(params=[1, 2, 60, 150])
def matrix(request):
    factor = np.random.default_rng(0).normal(size=(request.param, request.param))
    return np.asfortranarray(factor @ factor.T + len(factor) * np.eye(len(factor)))


@pytest.mark.parametrize("order", ["C", "F"])
def test_results_are_those_of_scipy(matrix, order):
    expected, _ = scipy_lapack.dpotrf(matrix + 0.5 * np.eye(len(matrix)), lower=1, clean=0)
    before = matrix.copy()
    factor = factorize_by_lapack(matrix, 0.5)
    assert_array_equal(factor.lower, expected)
    assert_array_equal(matrix, before)
    columns = np.array(np.arange(3.0 * len(matrix)).reshape(-1, 3), order=order)
    before = columns.copy()
    assert_array_equal(factor.solve(columns), scipy_lapack.dpotrs(expected, columns, lower=1)[0])
    assert_array_equal(factor.solve(columns.astype(int)), factor.solve(columns))
    assert_array_equal(columns, before)
    inverse = np.tril(scipy_lapack.dtrtri(expected, lower=1)[0])
    np.testing.assert_allclose(factor.inverse_diagonal(), (inverse**2).sum(axis=0), rtol=1e-12)
    assert_array_equal(factor.lower, expected)


def test_the_first_minor_that_is_not_positive_is_named():
    with pytest.raises(np.linalg.LinAlgError, match="leading minor 3"):
        factorize_by_lapack(np.diag([1.0, 2.0, -1.0, 1.0]), 0.5)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_matrix_of_any_type_in_any_memory_order_is_factorized(matrix, overwrite):
    expected = factorize_by_lapack(matrix.round(), 0.5).lower
    for form in (matrix.round().astype(np.float32), np.ascontiguousarray(matrix.round())):
        found = factorize_by_lapack(form, 0.5, overwrite).lower
        assert_array_equal(np.tril(found), np.tril(expected))


def test_a_shifted_system_is_solved_by_the_same_factor(matrix):
    columns, shifted = np.ones((len(matrix), 2)), matrix + 3 * np.eye(len(matrix))
    found = ShiftedFactor(factorize_by_lapack(matrix, 1.0), 2.0).solve(columns)
    np.testing.assert_allclose(found, np.linalg.solve(shifted, columns), rtol=1e-9)


@pytest.mark.parametrize("routine", [cholesky._potrf, cholesky._potrs, cholesky._trtri])
def test_the_interpreter_is_released(routine):
    holds_interpreter = ctypes.PYFUNCTYPE(None)._flags_
    assert type(routine)._flags_ != holds_interpreter
    assert type(routine)._flags_ == ctypes.CFUNCTYPE(None)._flags_
