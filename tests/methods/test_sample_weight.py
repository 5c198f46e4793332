"""Rows that count more or less than others."""

import numpy as np
import pytest
from core_methods import CORE_CLASSES
from literal import LiteralPLCL
from literal_methods import plknn_votes
from problems import ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, SURE
from ambilearn.base import project_rows

KERNEL = [
    PLCL(),
    PLCL(graph=False),
    PLCL(complementary=False),
    PLCL(kernel="linear"),
    PLAGGD(tol=1e-2),
    LALO(),
    SURE(),
]
every_kernel_method = pytest.mark.parametrize("estimator", KERNEL, ids=repr)
every_method = pytest.mark.parametrize("estimator", [*KERNEL, PLKNN()], ids=repr)


@pytest.fixture
def data():
    X, mask, y = ambiguous(n=50, extra=0.5, seed=1)
    return X, mask, y, np.random.default_rng(0).uniform(0.2, 3.0, len(X))


def test_the_methods_in_which_a_row_has_a_weight():
    known = {m for m in CORE_CLASSES if has_fit_parameter(m, "sample_weight")}
    assert {PLCL, PLAGGD, LALO, SURE, PLKNN, PLDA} <= known
    assert IPAL not in known
    assert "``sample_weight`` is not supported" in " ".join(IPAL.__doc__.split())
    with pytest.raises(TypeError, match="sample_weight"):
        IPAL().fit([[0.0], [1.0]], [0, 1], sample_weight=[1, 2])


@every_method
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ones_change_no_bit(estimator, data):
    X, mask, _, v = data
    plain = clone(estimator).fit(X, mask)
    ones = clone(estimator).fit(X, mask, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(ones.decision_function(X), plain.decision_function(X))
    weighted = clone(estimator).fit(X, mask, sample_weight=v)
    assert np.abs(weighted.decision_function(X) - plain.decision_function(X)).max() > 1e-3


@every_kernel_method
def test_twice_the_weight_is_the_row_twice(estimator, data):
    X, _, y, _ = data
    times = np.arange(len(X)) % 3 + 1
    weighted = clone(estimator).fit(X, y, sample_weight=times)
    repeated = clone(estimator).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-8
    )


@pytest.mark.parametrize("estimator", [SURE(), PLCL(graph=False)], ids=repr)
def test_without_a_graph_that_holds_for_sets_too(estimator, data):
    X, mask, _, _ = data
    times = np.arange(len(X)) % 3 + 1
    estimator = clone(estimator).set_params(tol=0, max_iter=20)
    weighted = clone(estimator).fit(X, mask, sample_weight=times)
    repeated = clone(estimator).fit(X.repeat(times, axis=0), mask.repeat(times, axis=0))
    np.testing.assert_allclose(
        weighted.label_distributions_.repeat(times, axis=0),
        repeated.label_distributions_,
        atol=1e-8,
    )
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-10)


@every_kernel_method
def test_a_row_of_weight_zero_teaches_nothing(estimator, data):
    X, _, y, _ = data
    kept = np.arange(len(X)) % 4 != 0
    weighted = clone(estimator).fit(X, y, sample_weight=kept)
    np.testing.assert_allclose(
        weighted.decision_function(X),
        clone(estimator).fit(X[kept], y[kept]).decision_function(X),
        atol=1e-6,
    )


@every_kernel_method
def test_a_row_of_weight_zero_is_disambiguated(estimator, data):
    X, mask, y = ambiguous(n=80, extra=0.2)
    weights = np.where(mask.sum(axis=1) > 1, 0.0, 1.0)  # the ambiguous rows teach nothing
    model = clone(estimator).fit(X, mask, sample_weight=weights)
    assert np.all(mask[np.arange(len(X)), model.transduction_])
    assert np.mean(model.transduction_ == y) > 0.9
    assert np.all(np.isfinite(model.label_distributions_))


@pytest.mark.parametrize(
    "parameters",
    [{}, {"graph": False}, {"complementary": False}, {"mu": 3.0, "beta": 2.0, "alpha": 0.2}],
)
def test_plcl_is_the_oracle(parameters, data):
    X, mask, _, v = data
    table = mask * np.random.default_rng(1).uniform(0.5, 1.0, mask.shape)
    model = PLCL(max_iter=8, tol=0, **parameters).fit(X, table, sample_weight=v)
    oracle = LiteralPLCL(**parameters).fit(X, table, v)
    assert np.abs(model.label_distributions_ - oracle.P).max() <= 1e-5
    assert np.abs(model.train_output_ - oracle.H).max() <= 1e-5
    np.testing.assert_allclose(model.objective_, oracle.objective, rtol=1e-4)


@every_kernel_method
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises(estimator, data):
    X, mask, _, v = data
    model = clone(estimator).set_params(max_iter=12, tol=0).fit(X, mask, sample_weight=v)
    assert np.all(np.diff(model.objective_) <= 1e-9 * np.abs(model.objective_[0]))


def test_a_linear_kernel_takes_sparse_rows(data):
    X, mask, _, v = data
    scattered = PLCL(kernel="linear").fit(sparse.csr_array(X), mask, v)
    np.testing.assert_allclose(scattered.coef_, PLCL(kernel="linear").fit(X, mask, v).coef_)


def test_plknn_multiplies_votes(data):
    X, mask, _, v = data
    model = PLKNN(n_neighbors=4).fit(X, mask, v)
    new = X[:5] + 0.01
    expected = [plknn_votes(x, X, mask * v[:, None], 4) for x in new]
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_multiplying_weights_and_regularization_by_a_number_changes_nothing(factor, data):
    X, mask, _, v = data
    for method in (LALO, PLAGGD):
        plain = method(mu=0.5, reg=0.05, rho=0, sigma=1.0, max_iter=5, tol=0)
        scaled = clone(plain).set_params(mu=0.5 * factor, reg=0.05 * factor)
        if method is PLAGGD:
            scaled.set_params(gamma=plain.gamma * factor)
        plain.fit(X, mask, sample_weight=v)
        scaled.fit(X, mask, sample_weight=factor * v)
        for name in ("label_distributions_", "train_output_"):
            np.testing.assert_allclose(getattr(scaled, name), getattr(plain, name), atol=1e-7)


def test_rows_of_weight_zero_are_disambiguated_without_a_graph(data):
    X, mask, _, v = data
    v[::4] = 0
    model = LALO(mu=0, rho=0, max_iter=300).fit(X, mask, sample_weight=v)
    expected = project_rows(np.where(mask > 0, model.train_output_, -np.inf))
    np.testing.assert_allclose(model.label_distributions_, expected, atol=0.01)
