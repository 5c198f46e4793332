import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import ambiguous, both_ridges, kernel_problem, support, support_problem
from scipy import sparse
from sklearn.linear_model import Ridge

from ambilearn.kernel import primal as module
from ambilearn.kernel.primal import Moments, PrimalRidge
from ambilearn.kernel.ridge import DualRidge
from ambilearn.solvers import factorize_by_blocks


def primal(X, ridge, P):
    return PrimalRidge(Moments.of(X), ridge).solve(X.T @ P, P.sum(axis=0))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_primal_version_agrees_with_scikit_learn(as_sparse):
    X, _, P = kernel_problem(4)
    fit = primal(sparse.csr_array(X) if as_sparse else X, 0.5, P)
    expected = Ridge(alpha=0.5).fit(X, P)
    np.testing.assert_allclose(fit.coef, expected.coef_.T, atol=1e-10)
    np.testing.assert_allclose(fit.intercept, expected.intercept_, atol=1e-10)
    assert fit.squared_norm == pytest.approx(np.sum(expected.coef_**2))


@given(st.integers(0, 10**6), st.floats(1e-3, 10))
def test_primal_version_has_the_sums_of_its_outputs(seed, ridge):
    X, _, P = kernel_problem(seed)
    fit = primal(X, ridge, P)
    outputs = X @ fit.coef + fit.intercept
    assert fit.squared_outputs == pytest.approx(np.sum(outputs**2), rel=1e-9)
    assert fit.total_output == pytest.approx(np.sum(outputs), rel=1e-9)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 13.0)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_moments_far_from_the_origin_and_in_blocks(form, weights, monkeypatch):
    X = np.random.default_rng(0).normal(size=(12, 3))
    expected = Moments.of(X, weights)
    monkeypatch.setattr(module, "_MAX_CENTERED", 15)
    far = X + np.array([1e8, 0, -1e8])
    moments = Moments.of(form(far), weights)
    np.testing.assert_allclose(moments.scatter, expected.scatter, atol=1e-6)
    np.testing.assert_allclose(moments.mean - expected.mean, [1e8, 0, -1e8], atol=1e-6)
    parts = Moments.of(form(far[:5]), None if weights is None else weights[:5])
    parts = parts.plus(Moments.of(form(far[5:]), None if weights is None else weights[5:]))
    np.testing.assert_allclose(parts.scatter, expected.scatter, atol=1e-6)


@pytest.mark.array_library
def test_both_run_in_another_array_namespace():
    X, K, P = kernel_problem(6)
    there = DualRidge(strict.asarray(K), 0.1, factorize=factorize_by_blocks).solve(
        strict.asarray(P)
    )
    np.testing.assert_allclose(
        np.asarray(there.fitted), DualRidge(K, 0.1).solve(P).fitted, atol=1e-10
    )
    there = PrimalRidge(Moments.of(strict.asarray(X)), 0.1, factorize_by_blocks)
    there = there.solve(strict.asarray(X.T @ P), strict.asarray(P.sum(axis=0)))
    here = primal(X, 0.1, P)
    np.testing.assert_allclose(np.asarray(there.coef), here.coef, atol=1e-10)
    assert there.squared_outputs == pytest.approx(here.squared_outputs)


@pytest.mark.parametrize("reg", [1e-3, 0.5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_of_rows_are_those_of_an_independent_ridge(reg, form):
    X, _, P = kernel_problem(3)
    v = np.random.default_rng(0).uniform(0.01, 5.0, len(X))
    oracle = Ridge(alpha=reg).fit(X, P, sample_weight=v)
    dual = DualRidge(X @ X.T, reg, row_weights=v).solve(P)
    np.testing.assert_allclose(X.T @ dual.coef, oracle.coef_.T, atol=1e-8)
    np.testing.assert_allclose(dual.intercept, oracle.intercept_, atol=1e-8)
    np.testing.assert_allclose(dual.fitted, oracle.predict(X), atol=1e-8)
    assert dual.squared_norm == pytest.approx(np.sum(oracle.coef_**2), rel=1e-6)
    moments = Moments.of(form(X), v)
    primal = PrimalRidge(moments, reg).solve(X.T @ (v[:, None] * P), v @ P)
    np.testing.assert_allclose(primal.coef, oracle.coef_.T, atol=1e-8)
    np.testing.assert_allclose(primal.intercept, oracle.intercept_, atol=1e-8)
    outputs = oracle.predict(X)
    assert primal.squared_outputs == pytest.approx(np.sum(v[:, None] * outputs**2))
    assert primal.total_output == pytest.approx(np.sum(v[:, None] * outputs))


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_both_regressors_are_ridge_regression_of_the_filled_matrix(seed):
    features, sets, values, rng = support_problem(seed)
    for off_support in (0.0, 1.0, rng.random(sets.n_rows)):
        targets = sets.scatter(values, np.reshape(off_support, (-1, 1)))
        expected = Ridge(alpha=0.2).fit(features, targets)
        outputs = expected.predict(features)
        for regressor in both_ridges(features):
            fit = regressor.fit(sets, values, off_support)
            np.testing.assert_allclose(fit.intercept, expected.intercept_, atol=1e-9)
            np.testing.assert_allclose(fit.outputs, sets.gather(outputs), atol=1e-9)
            np.testing.assert_allclose(regressor.train_output(sets, fit), outputs, atol=1e-9)
            assert fit.squared_norm == pytest.approx(np.sum(expected.coef_**2), rel=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, -0.5]))
@settings(max_examples=30)
def test_squared_error_is_that_of_all_entries_also_for_other_targets(seed, off_support):
    features, sets, values, rng = support_problem(seed)
    others = rng.random(len(values))
    for regressor in both_ridges(features):
        fit = regressor.fit(sets, values)
        difference = regressor.train_output(sets, fit) - sets.scatter(others, off_support)
        assert fit.squared_error(others, off_support) == pytest.approx(
            np.sum(difference**2), rel=1e-9
        )


def test_a_sparse_mask_gives_sparse_outputs_on_the_candidates_only():
    X, mask, _ = ambiguous(seed=1)
    sets = support(sparse.csr_array(mask))
    for regressor in both_ridges(X):
        fit = regressor.fit(sets, sets.uniform())
        output = regressor.train_output(sets, fit)
        assert output.nnz == mask.sum()
        np.testing.assert_array_equal(output.data, fit.outputs)
