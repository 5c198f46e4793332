from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import kernel_classifier
from problems import ambiguous, random_mask, support
from scipy import linalg, sparse
from sklearn.linear_model import Ridge

from ambilearn import SURE
from ambilearn.backend import HOST
from ambilearn.candidates import as_candidates
from ambilearn.kernel import ridge
from ambilearn.kernel.ridge import DualRidge, Moments, PrimalRidge
from ambilearn.solvers import cholesky, factorize_by_blocks


def problem(seed, n=25, d=6, n_labels=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 1.0, size=(n, d))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    return X, np.exp(-distances / 6), rng.random((n, n_labels))


@pytest.mark.parametrize("reg", [1e-3, 0.03, 10.0])
def test_kernel_version_agrees_with_the_papers_formula(reg):
    _, K, P = problem(0)
    fit = DualRidge(K, reg).solve(P)
    A, b, H = kernel_classifier(K, P, 1 / (2 * reg))
    np.testing.assert_allclose(fit.coef, A / (2 * reg), atol=1e-9)
    np.testing.assert_allclose(fit.intercept, b, atol=1e-10)
    np.testing.assert_allclose(fit.fitted, H, atol=1e-10)


@given(st.integers(0, 10**6), st.floats(1e-3, 10))
def test_kernel_version_is_stationary(seed, reg):
    """Zero gradient in w and b: K(H − P + λA) = 0 and 1'(H − P) = 0; and H = KA + b."""
    _, K, P = problem(seed)
    fit = DualRidge(K, reg).solve(P)
    np.testing.assert_allclose(K @ fit.coef + fit.intercept, fit.fitted, atol=1e-9)
    np.testing.assert_allclose(K @ (fit.fitted - P + reg * fit.coef), 0, atol=1e-8)
    np.testing.assert_allclose((fit.fitted - P).sum(axis=0), 0, atol=1e-8)
    assert fit.squared_norm == pytest.approx(np.sum(fit.coef * (K @ fit.coef)), rel=1e-6)


def test_factor_is_reused_for_many_targets():
    _, K, P = problem(1)
    ridge = DualRidge(K, 0.1)
    first = ridge.solve(P).fitted.copy()
    ridge.solve(1 - P)
    np.testing.assert_array_equal(ridge.solve(P).fitted, first)


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
    _, K, P = problem(2)
    fit = DualRidge(K, 0.1).solve(np.full_like(P, 0.25))
    np.testing.assert_allclose(fit.intercept, 0.25)
    np.testing.assert_allclose(fit.coef, 0, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_kernel_matrix_is_unchanged_without_overwrite(order):
    _, K, P = problem(3)
    K = np.array(K, order=order)
    copy = K.copy()
    expected = DualRidge(K, 0.1).solve(P).fitted
    np.testing.assert_array_equal(K, copy)
    overwritten = DualRidge(K, 0.1, overwrite=True)
    assert np.shares_memory(overwritten._factor.lower, K)
    np.testing.assert_allclose(overwritten.solve(P).fitted, expected, atol=1e-10)


def test_indefinite_kernel_raises_an_error_with_advice():
    with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite.*Raise `reg`"):
        DualRidge(np.array([[1.0, 5.0], [5.0, 1.0]]), 0.1)


def primal(X, ridge, P):
    return PrimalRidge(Moments.of(X), ridge).solve(X.T @ P, P.sum(axis=0))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_primal_version_agrees_with_scikit_learn(as_sparse):
    X, _, P = problem(4)
    fit = primal(sparse.csr_array(X) if as_sparse else X, 0.5, P)
    expected = Ridge(alpha=0.5).fit(X, P)
    np.testing.assert_allclose(fit.coef, expected.coef_.T, atol=1e-10)
    np.testing.assert_allclose(fit.intercept, expected.intercept_, atol=1e-10)
    assert fit.squared_norm == pytest.approx(np.sum(expected.coef_**2))


@given(st.integers(0, 10**6), st.floats(1e-3, 10))
def test_primal_version_has_the_sums_of_its_outputs(seed, ridge):
    X, _, P = problem(seed)
    fit = primal(X, ridge, P)
    outputs = X @ fit.coef + fit.intercept
    assert fit.squared_outputs == pytest.approx(np.sum(outputs**2), rel=1e-9)
    assert fit.total_output == pytest.approx(np.sum(outputs), rel=1e-9)


def test_primal_version_equals_the_kernel_version_with_a_linear_kernel():
    X, _, P = problem(5)
    fit = primal(X, 0.3, P)
    dual = DualRidge(X @ X.T, 0.3).solve(P)
    np.testing.assert_allclose(X @ fit.coef + fit.intercept, dual.fitted, atol=1e-9)
    np.testing.assert_allclose(fit.coef, X.T @ dual.coef, atol=1e-9)
    assert fit.squared_norm == pytest.approx(dual.squared_norm, rel=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_moments_of_parts_add_up(form):
    X, _, _ = problem(7)
    whole = Moments.of(form(X))
    parts = Moments.of(form(X[:9])).plus(Moments.of(form(X[9:])))
    assert whole.n_rows == parts.n_rows == len(X)
    np.testing.assert_allclose(whole.mean, parts.mean)
    np.testing.assert_allclose(whole.scatter, parts.scatter)
    np.testing.assert_allclose(whole.scatter, (X - X.mean(axis=0)).T @ X)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 13.0)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_moments_far_from_the_origin_and_in_blocks(form, weights, monkeypatch):
    X = np.random.default_rng(0).normal(size=(12, 3))
    expected = Moments.of(X, weights)
    monkeypatch.setattr(ridge, "_MAX_CENTERED", 15)
    far = X + np.array([1e8, 0, -1e8])
    moments = Moments.of(form(far), weights)
    np.testing.assert_allclose(moments.scatter, expected.scatter, atol=1e-6)
    np.testing.assert_allclose(moments.mean - expected.mean, [1e8, 0, -1e8], atol=1e-6)
    parts = Moments.of(form(far[:5]), None if weights is None else weights[:5])
    parts = parts.plus(Moments.of(form(far[5:]), None if weights is None else weights[5:]))
    np.testing.assert_allclose(parts.scatter, expected.scatter, atol=1e-6)


@pytest.mark.array_library
def test_both_run_in_another_array_namespace():
    X, K, P = problem(6)
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
    X, _, P = problem(3)
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


def test_row_with_tiny_weight_has_an_output():
    """As it is computed where a user gives the weight zero."""
    _, K, P = problem(4)
    v = np.ones(len(P))
    v[::3] = 1e-12
    fit = DualRidge(K, 0.1, row_weights=v).solve(P)
    np.testing.assert_allclose(fit.fitted, K @ fit.coef + fit.intercept, atol=1e-8)
    without = DualRidge(K[v == 1][:, v == 1], 0.1).solve(P[v == 1])
    np.testing.assert_allclose(fit.intercept, without.intercept, atol=1e-9)


def really_left_out(K, P, reg):
    """Outputs for each row of a fit to all other rows, one fit a row."""
    n = len(K)
    outputs = np.empty_like(P)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        A, b, _ = kernel_classifier(K[np.ix_(rest, rest)], P[rest], 1 / (2 * reg))
        outputs[i] = K[i, rest] @ A / (2 * reg) + b
    return outputs


@pytest.mark.parametrize("reg", [1e-3, 0.03, 10.0])
@pytest.mark.parametrize("n", [2, 25, 150])
def test_leverages_agree_with_leave_one_out_fits(n, reg):
    _, K, P = problem(4, n=n)
    ridge = DualRidge(K, reg)
    left = P - (P - ridge.solve(P).fitted) / ridge.leverage_complements()[:, None]
    np.testing.assert_allclose(left, really_left_out(K, P, reg), atol=1e-7)


@pytest.mark.parametrize("reg", [1e-3, 0.03, 10.0])
def test_leverages_in_the_primal_are_those_in_the_dual(reg):
    X, _, _ = problem(5, n=90)
    primal = PrimalRidge(Moments.of(X), reg, features=X)
    dual = DualRidge(X @ X.T, reg)
    expected = dual.leverage_complements()
    np.testing.assert_allclose(primal.leverage_complements(), expected, rtol=1e-7)


def test_leverages_are_the_diagonal_of_the_hat_matrix():
    _, K, _ = problem(6)
    ridge = DualRidge(K, 0.1)
    outputs = ridge.solve(np.eye(len(K))).fitted
    np.testing.assert_allclose(1 - ridge.leverage_complements(), np.diag(outputs), atol=1e-12)


@pytest.mark.array_library
def test_leverages_of_any_array_library_are_those_of_numpy():
    X, K, _ = problem(7)
    got = DualRidge(strict.asarray(K), 0.1, factorize=factorize_by_blocks).leverage_complements()
    np.testing.assert_allclose(np.asarray(got), DualRidge(K, 0.1).leverage_complements(), rtol=1e-9)
    there = strict.asarray(X)
    primal = PrimalRidge(Moments.of(there), 0.1, factorize_by_blocks, there)
    got = primal.leverage_complements()
    expected = PrimalRidge(Moments.of(X), 0.1, features=X).leverage_complements()
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-9)


def test_leverages_of_weighted_rows():
    X, _, P = problem(8, n=20)
    v = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    expected = np.empty_like(P)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        oracle = Ridge(alpha=0.3).fit(X[rest], P[rest], sample_weight=v[rest])
        expected[i] = oracle.predict(X[[i]])[0]
    dual = DualRidge(X @ X.T, 0.3, row_weights=v)
    complements = dual.leverage_complements()
    left = P - (P - dual.solve(P).fitted) / complements[:, None]
    np.testing.assert_allclose(left, expected, atol=1e-8)
    primal = PrimalRidge(Moments.of(X, v), 0.3, features=X, row_weights=v)
    np.testing.assert_allclose(primal.leverage_complements(), complements, rtol=1e-8)


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


def test_leverages_on_a_device(library):
    X = np.random.default_rng(0).normal(size=(30, 4))
    expected = DualRidge(X @ X.T, 0.1).leverage_complements()
    found = DualRidge(
        library.to_device(X @ X.T), 0.1, factorize=factorize_by_blocks
    ).leverage_complements()
    np.testing.assert_allclose(library.to_host(found), expected, atol=1e-12)


def test_kernel_matrix_on_a_device_is_unchanged_without_overwrite(library):
    K = library.to_device(np.eye(5))
    DualRidge(K, 0.1, factorize=factorize_by_blocks)
    assert (library.to_host(K) == np.eye(5)).all()


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
    np.testing.assert_allclose(found.leverage_complements(), expected.leverage_complements())
    monkeypatch.undo()
    assert cholesky._MAX_LAPACK_ROWS**2 < 2**31


# --- targets on the support of candidate sets ---------------------------------------------------


def support_problem(seed, n=30, m=5, n_labels=4):
    rng = np.random.default_rng(seed)
    sets = support(random_mask(rng, n, n_labels))
    values = rng.random(len(sets.labels))
    return rng.normal(size=(n, m)), sets, values, rng


def both(features, ridge=0.2):
    return (
        PrimalRidge(Moments.of(features), ridge, features=features),
        DualRidge(features @ features.T, ridge),
    )


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_both_regressors_are_ridge_regression_of_the_filled_matrix(seed):
    features, sets, values, rng = support_problem(seed)
    for off_support in (0.0, 1.0, rng.random(sets.n_rows)):
        targets = sets.scatter(values, np.reshape(off_support, (-1, 1)))
        expected = Ridge(alpha=0.2).fit(features, targets)
        outputs = expected.predict(features)
        for regressor in both(features):
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
    for regressor in both(features):
        fit = regressor.fit(sets, values)
        difference = regressor.train_output(sets, fit) - sets.scatter(others, off_support)
        assert fit.squared_error(others, off_support) == pytest.approx(
            np.sum(difference**2), rel=1e-9
        )


def test_a_sparse_mask_gives_sparse_outputs_on_the_candidates_only():
    X, mask, _ = ambiguous(seed=1)
    sets = support(sparse.csr_array(mask))
    for regressor in both(X):
        fit = regressor.fit(sets, sets.uniform())
        output = regressor.train_output(sets, fit)
        assert output.nnz == mask.sum()
        np.testing.assert_array_equal(output.data, fit.outputs)


def held_out(regressor, values, sets):
    """All held-out outputs as one matrix; every entry must come exactly once."""
    outputs = np.full((sets.n_rows, sets.n_labels), np.nan)
    for rows, labels, block in regressor.held_out(sets, values):
        assert np.isnan(outputs[np.ix_(rows, labels)]).all()
        outputs[np.ix_(rows, labels)] = block
    return outputs


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_held_out_outputs_agree_with_leave_one_out_fits(seed):
    features, sets, values, _ = support_problem(seed, n=12)
    targets = sets.scatter(values)
    expected = [
        Ridge(alpha=0.2)
        .fit(np.delete(features, i, axis=0), np.delete(targets, i, axis=0))
        .predict(features[[i]])[0]
        for i in range(len(features))
    ]
    for regressor in both(features):
        np.testing.assert_allclose(held_out(regressor, values, sets), expected, atol=1e-8)


def test_held_out_outputs_come_in_blocks_of_rows_and_take_sparse_features(monkeypatch):
    features, sets, values, _ = support_problem(3)
    primal, dual = both(features)
    expected = held_out(dual, values, sets)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 70)  # of four labels and five features
    assert len(list(primal.held_out(sets, values))) > 3
    np.testing.assert_allclose(held_out(primal, values, sets), expected, atol=1e-9)
    few = sparse.csr_array(features)
    primal = PrimalRidge(Moments.of(few), 0.2, features=few)
    np.testing.assert_allclose(held_out(primal, values, sets), expected, atol=1e-9)


@pytest.mark.parametrize("method", [SURE(), SURE(kernel="linear"), SURE(n_landmarks=9)])
@pytest.mark.parametrize("weighted", [False, True])
def test_influence_is_what_new_targets_change(method, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    sets = as_candidates(rng.random((30, 3)) < 0.9)
    if weighted:
        sets = replace(sets, row_weights=rng.uniform(0.5, 2, size=30))
    method = method.set_params(random_state=0)
    regressor = method._make_regressor(method._training_rows(X), sets)
    pairs = HOST.support(sets)

    def held_out(values):
        blocks = regressor.held_out(values)
        return np.concatenate([block.outputs for block in blocks])

    values = rng.random(len(sets.labels))
    rows = np.array([4, 17])
    changed = np.where(np.isin(pairs.rows, rows), rng.random(len(values)), values)
    change = pairs.scatter(changed - values)[rows]
    others = np.setdiff1d(np.arange(30), rows)
    influence = regressor.influence(rows, change)
    expected = (held_out(changed) - held_out(values))[others]
    np.testing.assert_allclose(influence[others], expected, atol=1e-9)
    first, second = (regressor.influence(rows[[i]], change[[i]]) for i in range(2))
    np.testing.assert_allclose(first[rows[0]], 0, atol=1e-12)  # its own targets are left out
    np.testing.assert_allclose(influence, first + second, atol=1e-12)


def test_leverages_are_computed_once_for_all_candidate_sets(monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(12, 3))
    calls = []
    compute = PrimalRidge._block_complements

    def count(*arguments):
        calls.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(PrimalRidge, "_block_complements", count)
    regressor = PrimalRidge(Moments.of(features), 0.2, features=features)
    for labels in (["a", "b", "a"], ["b", "b", "a"]):
        sets = HOST.support(as_candidates([{label} for label in labels * 4]))
        list(regressor.held_out(sets, np.ones(12)))
        regressor.influence(np.array([1]), np.ones((1, 2)))
    assert len(calls) == 1
