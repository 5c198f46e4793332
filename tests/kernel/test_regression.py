from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import ambiguous, random_mask, support
from scipy import sparse
from sklearn.linear_model import Ridge

from ambilearn import SURE
from ambilearn.backend import HOST
from ambilearn.candidates import as_candidates
from ambilearn.kernel.regression import DualRegressor, PrimalRegressor
from ambilearn.solvers import KernelRidge, Moments, PrimalRidge


def problem(seed, n=30, m=5, n_labels=4):
    rng = np.random.default_rng(seed)
    sets = support(random_mask(rng, n, n_labels))
    values = rng.random(len(sets.labels))
    return rng.normal(size=(n, m)), sets, values, rng


def regressors(features, sets, ridge=0.2):
    return (
        PrimalRegressor(features, PrimalRidge(Moments.of(features), ridge), sets),
        DualRegressor(KernelRidge(features @ features.T, ridge), sets),
    )


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_both_regressors_are_ridge_regression_of_the_filled_matrix(seed):
    features, sets, values, rng = problem(seed)
    for off_support in (0.0, 1.0, rng.random(sets.n_rows)):
        targets = sets.scatter(values, np.reshape(off_support, (-1, 1)))
        expected = Ridge(alpha=0.2).fit(features, targets)
        outputs = expected.predict(features)
        for regressor in regressors(features, sets):
            fit = regressor.fit(values, off_support)
            np.testing.assert_allclose(fit.intercept, expected.intercept_, atol=1e-9)
            np.testing.assert_allclose(fit.outputs, sets.gather(outputs), atol=1e-9)
            np.testing.assert_allclose(regressor.train_output(fit), outputs, atol=1e-9)
            assert fit.squared_norm == pytest.approx(np.sum(expected.coef_**2), rel=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, -0.5]))
@settings(max_examples=30)
def test_squared_error_is_that_of_all_entries_also_for_other_targets(seed, off_support):
    features, sets, values, rng = problem(seed)
    others = rng.random(len(values))
    for regressor in regressors(features, sets):
        fit = regressor.fit(values)
        difference = regressor.train_output(fit) - sets.scatter(others, off_support)
        assert fit.squared_error(others, off_support) == pytest.approx(
            np.sum(difference**2), rel=1e-9
        )


def test_a_sparse_mask_gives_sparse_outputs_on_the_candidates_only():
    X, mask, _ = ambiguous(seed=1)
    sets = support(sparse.csr_array(mask))
    for regressor in regressors(X, sets):
        fit = regressor.fit(sets.uniform())
        output = regressor.train_output(fit)
        assert output.nnz == mask.sum()
        np.testing.assert_array_equal(output.data, fit.outputs)


def held_out(regressor, values, sets):
    """All held-out outputs as one matrix; every entry must come exactly once."""
    outputs = np.full((sets.n_rows, sets.n_labels), np.nan)
    for rows, labels, block in regressor.held_out(values):
        assert np.isnan(outputs[np.ix_(rows, labels)]).all()
        outputs[np.ix_(rows, labels)] = block
    return outputs


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_held_out_outputs_agree_with_leave_one_out_fits(seed):
    features, sets, values, _ = problem(seed, n=12)
    targets = sets.scatter(values)
    expected = [
        Ridge(alpha=0.2)
        .fit(np.delete(features, i, axis=0), np.delete(targets, i, axis=0))
        .predict(features[[i]])[0]
        for i in range(len(features))
    ]
    for regressor in regressors(features, sets):
        np.testing.assert_allclose(held_out(regressor, values, sets), expected, atol=1e-8)


def test_held_out_outputs_come_in_blocks_of_rows_and_take_sparse_features(monkeypatch):
    features, sets, values, _ = problem(3)
    primal, dual = regressors(features, sets)
    expected = held_out(dual, values, sets)
    monkeypatch.setattr("ambilearn._utils.blocks.LIMIT", 70)  # of four labels and five features
    assert len(list(primal.held_out(values))) > 3
    np.testing.assert_allclose(held_out(primal, values, sets), expected, atol=1e-9)
    few = sparse.csr_array(features)
    primal = PrimalRegressor(few, PrimalRidge(Moments.of(few), 0.2), sets)
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
    compute = PrimalRidge.leverage_complements

    def count(*arguments):
        calls.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(PrimalRidge, "leverage_complements", count)
    ridge = PrimalRidge(Moments.of(features), 0.2)
    for labels in (["a", "b", "a"], ["b", "b", "a"]):
        support = HOST.support(as_candidates([{label} for label in labels * 4]))
        regressor = PrimalRegressor(features, ridge, support)
        list(regressor.held_out(np.ones(12)))
        regressor.influence(np.array([1]), np.ones((1, 2)))
    assert len(calls) == 1
