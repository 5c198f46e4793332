import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_mask, support
from scipy import sparse

from ambilearn.kernel.many_labels import ManyLabelRegressor
from ambilearn.kernel.regression import DualRegressor
from ambilearn.solvers import KernelRidge


def problem(seed, n=25, n_labels=9, unused=4):
    """Random sets, the last labels being nobody's; a kernel matrix, and that of three new rows."""
    rng = np.random.default_rng(seed)
    mask = np.hstack([random_mask(rng, n, n_labels), np.zeros((n, unused))])
    mask = mask[:, rng.permutation(n_labels + unused)]
    X, Z = rng.normal(size=(n, 4)), rng.normal(size=(3, 4))
    sets = support(sparse.csr_array(mask))
    return KernelRidge(X @ X.T, 0.3), sets, rng.random(len(sets.labels)), Z @ X.T, rng


@pytest.fixture(params=[1, 240, 2**22])
def block(request, monkeypatch):
    """Blocks of one label, of two, and of all."""
    monkeypatch.setattr("ambilearn._utils.blocks.LIMIT", request.param)
    return request.param


@pytest.mark.parametrize("unused", [0, 1, 4])
@pytest.mark.parametrize("off_support", [0.0, 1.0, "rows"])
def test_agrees_with_the_dense_regressor(block, unused, off_support):
    ridge, sets, values, K, rng = problem(1, unused=unused)
    off_support = rng.random(sets.n_rows) if off_support == "rows" else off_support
    found = ManyLabelRegressor(ridge, sets).fit(values, off_support)
    expected = DualRegressor(ridge, sets).fit(values, off_support)
    for name in ("intercept", "outputs", "squared_norm", "squared_outputs", "total_output", "size"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-10)
    np.testing.assert_allclose(found.coef.toarray(), expected.coef, atol=1e-10)
    np.testing.assert_allclose(K @ found.coef, K @ expected.coef, atol=1e-10)
    assert found.coef.shape == expected.coef.shape
    assert found.fitted is None


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_squared_error_is_that_of_all_entries(seed):
    ridge, sets, values, _, rng = problem(seed)
    others, off_support = rng.random(len(values)), rng.random()
    found = ManyLabelRegressor(ridge, sets).fit(values)
    outputs = ridge.solve(sets.scatter(values)).value.fitted
    expected = np.sum((outputs - sets.scatter(others, off_support)) ** 2)
    assert found.squared_error(others, off_support) == pytest.approx(expected, rel=1e-9)


def test_blocks_contain_every_label_and_pair_once(block):
    ridge, sets, _, _, _ = problem(2)
    blocks = ManyLabelRegressor(ridge, sets)._blocks
    assert sorted(np.concatenate([each.labels for each in blocks])) == list(range(sets.n_labels))
    assert sorted(np.concatenate([each.pairs for each in blocks])) == list(range(len(sets.labels)))
    assert sum(each.n_columns * each.times for each in blocks) == sets.n_labels
    assert max(each.n_columns for each in blocks) <= max(1, block // sets.n_rows)


def test_train_output_has_only_candidates():
    ridge, sets, values, _, _ = problem(3)
    regressor = ManyLabelRegressor(ridge, sets)
    fit = regressor.fit(values)
    output = regressor.train_output(fit)
    assert output.nnz == len(sets.labels)
    np.testing.assert_array_equal(output.data, fit.outputs)


def test_coefficients_have_a_repr():
    ridge, sets, values, _, _ = problem(4)
    coef = ManyLabelRegressor(ridge, sets).fit(values).coef
    assert "FactoredCoefficients of shape (25, 13)" in repr(coef)


def test_coefficients_can_be_pickled():
    ridge, sets, values, K, _ = problem(4)
    coef = ManyLabelRegressor(ridge, sets).fit(values).coef
    np.testing.assert_array_equal(K @ pickle.loads(pickle.dumps(coef)), K @ coef)


@pytest.mark.parametrize("unused", [0, 1, 4])
def test_held_out_outputs_agree_with_dense_targets(block, unused):
    ridge, sets, values, _, _ = problem(3, unused=unused)
    [(_, _, expected)] = DualRegressor(ridge, sets).held_out(values)
    seen = []
    for rows, labels, outputs in ManyLabelRegressor(ridge, sets).held_out(values):
        np.testing.assert_array_equal(rows, np.arange(sets.n_rows))
        np.testing.assert_allclose(outputs, expected[:, labels], atol=1e-10)
        seen += labels.tolist()
    assert len(seen) == len(set(seen)) == sets.n_labels - max(unused - 1, 0)  # one for all unused
