from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import both_ridges, kernel_problem, support_problem
from scipy import sparse
from sklearn.linear_model import Ridge

from ambilearn import SURE
from ambilearn.backend import HOST
from ambilearn.candidates import as_candidates
from ambilearn.kernel import leave_one_out
from ambilearn.kernel.leave_one_out import LeaveOneOut, leverage_complements
from ambilearn.kernel.primal import Moments, PrimalRidge
from ambilearn.kernel.ridge import DualRidge
from ambilearn.solvers import factorize_by_blocks


@pytest.mark.parametrize("reg", [1e-3, 0.03, 10.0])
def test_leverages_in_the_primal_are_those_in_the_dual(reg):
    X, _, _ = kernel_problem(5, n=90)
    primal = PrimalRidge(Moments.of(X), reg, features=X)
    dual = DualRidge(X @ X.T, reg)
    expected = leverage_complements(dual)
    np.testing.assert_allclose(leverage_complements(primal), expected, rtol=1e-7)


@pytest.mark.array_library
def test_leverages_of_any_array_library_are_those_of_numpy():
    X, K, _ = kernel_problem(7)
    got = leverage_complements(DualRidge(strict.asarray(K), 0.1, factorize=factorize_by_blocks))
    np.testing.assert_allclose(np.asarray(got), leverage_complements(DualRidge(K, 0.1)), rtol=1e-9)
    there = strict.asarray(X)
    primal = PrimalRidge(Moments.of(there), 0.1, factorize_by_blocks, there)
    got = leverage_complements(primal)
    expected = leverage_complements(PrimalRidge(Moments.of(X), 0.1, features=X))
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-9)


def test_leverages_of_weighted_rows():
    X, _, P = kernel_problem(8, n=20)
    v = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    expected = np.empty_like(P)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        oracle = Ridge(alpha=0.3).fit(X[rest], P[rest], sample_weight=v[rest])
        expected[i] = oracle.predict(X[[i]])[0]
    dual = DualRidge(X @ X.T, 0.3, row_weights=v)
    complements = leverage_complements(dual)
    left = P - (P - dual.solve(P).fitted) / complements[:, None]
    np.testing.assert_allclose(left, expected, atol=1e-8)
    primal = PrimalRidge(Moments.of(X, v), 0.3, features=X, row_weights=v)
    np.testing.assert_allclose(leverage_complements(primal), complements, rtol=1e-8)


def test_leverages_on_a_device(library):
    X = np.random.default_rng(0).normal(size=(30, 4))
    expected = leverage_complements(DualRidge(X @ X.T, 0.1))
    found = leverage_complements(
        DualRidge(library.to_device(X @ X.T), 0.1, factorize=factorize_by_blocks)
    )
    np.testing.assert_allclose(library.to_host(found), expected, atol=1e-12)


def held_out(regressor, values, sets):
    """All held-out outputs as one matrix; every entry must come exactly once."""
    outputs = np.full((sets.n_rows, sets.n_labels), np.nan)
    for rows, block in LeaveOneOut(regressor, sets).held_out(values):
        assert np.isnan(outputs[rows]).all()
        outputs[rows] = block
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
    for regressor in both_ridges(features):
        np.testing.assert_allclose(held_out(regressor, values, sets), expected, atol=1e-8)


def test_held_out_outputs_come_in_blocks_of_rows_and_take_sparse_features(monkeypatch):
    features, sets, values, _ = support_problem(3)
    primal, dual = both_ridges(features)
    expected = held_out(dual, values, sets)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 70)  # of four labels and five features
    assert len(list(LeaveOneOut(primal, sets).held_out(values))) > 3
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
    compute = leave_one_out._block_complements

    def count(*arguments):
        calls.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(leave_one_out, "_block_complements", count)
    regressor = PrimalRidge(Moments.of(features), 0.2, features=features)
    for labels in (["a", "b", "a"], ["b", "b", "a"]):
        sets = HOST.support(as_candidates([{label} for label in labels * 4]))
        outputs = LeaveOneOut(regressor, sets)
        list(outputs.held_out(np.ones(12)))
        outputs.influence(np.array([1]), np.ones((1, 2)))
    assert len(calls) == 1
