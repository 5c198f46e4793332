"""Weights of candidates: what every method makes of them."""

import numpy as np
import pytest
from core_methods import CORE_CLASSES
from literal import LiteralPLCL, unit_rows
from literal_methods import plknn_votes
from problems import ambiguous, support
from scipy import sparse
from sklearn.base import clone

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, SURE, PLDATransformer

ESTIMATORS = [
    *(method() for method in CORE_CLASSES),
    PLCL(graph=False),
    PLCL(complementary=False),
    PLCL(kernel="linear"),
    PLCL(n_landmarks=15, random_state=0),
    SURE(n_landmarks=15, random_state=0),
    PLDA(),
]
for _estimator in ESTIMATORS:  # whether they converge does not matter here
    _few = {name: 4 for name in _estimator.get_params() if name.endswith("_iter")}
    _estimator.set_params(**_few)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)

# Methods that minimize something, of which the weights are a part.
OBJECTIVES = [PLCL(tol=0), PLCL(graph=False), PLAGGD(tol=0), LALO(tol=0), SURE(tol=0), PLDA(tol=0)]


def weighted(seed=0, n=40):
    """X, a table of weights that favors the right label, and the right labels."""
    X, mask, y = ambiguous(n=n, extra=0.5, seed=seed)
    rng = np.random.default_rng(seed)
    table = mask * rng.uniform(0.2, 1.0, mask.shape)
    table[np.arange(n), y] += 0.5
    return X, table, y


def results(model):
    """Everything that a fit has found out."""
    names = ("label_distributions_", "train_output_", "transduction_", "objective_")
    found = [getattr(model, name) for name in names if hasattr(model, name)]
    return [each.toarray() if sparse.issparse(each) else each for each in found]


def assert_same_bits(a, b, X):
    for mine, theirs in zip(results(a), results(b), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_estimator
def test_equal_weights_change_no_bit(estimator):
    X, mask, _ = ambiguous(n=40, extra=0.5)
    plain = clone(estimator).fit(X, mask)
    units = np.random.default_rng(0).uniform(1e-3, 1e3, (len(X), 1))
    assert_same_bits(clone(estimator).fit(X, mask * units), plain, X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_estimator
def test_the_unit_of_the_weights_does_not_matter(estimator):
    X, table, _ = weighted()
    first = clone(estimator).fit(X, table)
    scaled = table * 2.0 ** np.arange(len(table))[:, None].clip(max=9)
    assert_same_bits(clone(estimator).fit(X, scaled), first, X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_estimator
def test_weights_that_favor_the_truth_help(estimator):
    X, mask, y = ambiguous(n=80, extra=0.7, seed=3)
    hint = mask + 3.0 * np.eye(mask.shape[1])[y]
    blind, told = (clone(estimator).fit(X, each) for each in (mask, hint))
    assert np.mean(told.transduction_ == y) > np.mean(blind.transduction_ == y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_estimator
def test_more_weight_is_more_confidence(estimator):
    X, mask, _ = ambiguous(n=60, extra=0.6)
    i = int(np.flatnonzero(mask.sum(axis=1) >= 3)[0])
    j = int(np.flatnonzero(mask[i])[1])
    confidences = []
    for weight in (0.25, 1.0, 4.0):
        table = mask.astype(float)
        table[i, j] = weight
        confidences.append(clone(estimator).fit(X, table).label_distributions_[i, j])
    assert confidences == sorted(confidences)
    assert confidences[2] > confidences[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_estimator
def test_weights_work_with_a_sparse_table(estimator):
    X, table, _ = weighted()
    dense, scattered = (clone(estimator).fit(X, y) for y in (table, sparse.csr_array(table)))
    assert sparse.issparse(scattered.label_distributions_)
    np.testing.assert_allclose(
        scattered.label_distributions_.toarray(), dense.label_distributions_, atol=1e-8
    )


# --- against the oracles ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [{}, {"rho": 0.5}, {"graph": False}, {"complementary": False, "rho": 7.0}, {"mu": 4.0}],
)
def test_plcl_with_weights_is_the_oracle(parameters):
    X, table, _ = weighted(n=45)
    model = PLCL(max_iter=8, tol=0, **parameters).fit(X, table)
    oracle = LiteralPLCL(**parameters).fit(X, table)
    assert np.abs(model.label_distributions_ - oracle.P).max() <= 1e-5
    assert np.abs(model.train_output_ - oracle.H).max() <= 1e-5
    np.testing.assert_allclose(model.objective_, oracle.objective, rtol=1e-4)


@pytest.mark.parametrize("estimator", OBJECTIVES, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises(estimator):
    X, table, _ = weighted()
    objective = clone(estimator).set_params(max_iter=12).fit(X, table).objective_
    assert len(objective) > 1
    assert np.all(np.diff(objective) <= 1e-9 * np.abs(objective[0]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_reward_is_no_weights():
    X, table, _ = weighted()
    for method in (PLCL, PLAGGD, LALO, SURE):
        assert_same_bits(method(rho=0).fit(X, table), method().fit(X, table > 0), X)


def test_sure_sharpens_what_the_weights_have_shifted():
    X, table, _ = weighted()
    model = SURE(tol=0, max_iter=300).fit(X, table)
    sets = support(table)
    target = sets.gather(model.train_output_) + sets.preference()
    target[sets.best_pairs(target)] += model.lam / 2
    p = sets.gather(model.label_distributions_)
    # Projection onto the simplex: target minus one number a row where positive, below it elsewhere.
    for a, b in zip(sets.indptr[:-1], sets.indptr[1:], strict=True):
        shift = target[a:b] - p[a:b]
        inside = p[a:b] > 1e-9
        np.testing.assert_allclose(shift[inside], shift[inside].mean(), atol=1e-4)
        assert np.all(shift[~inside] <= shift[inside].mean() + 1e-4)


def test_plknn_votes_with_the_weights():
    X, table, _ = weighted()
    model = PLKNN(n_neighbors=4).fit(X, table)
    new = X[:5] + 0.01
    votes = table / table.max(axis=1, keepdims=True)
    expected = [plknn_votes(x, X, votes, 4) for x in new]
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-12)


def test_ipal_starts_from_the_weights():
    X, table, _ = weighted()
    shares = table / table.sum(axis=1, keepdims=True)
    model = IPAL(alpha=0.0, tol=0, max_iter=1).fit(X, table)  # nothing comes from the neighbors
    np.testing.assert_allclose(model.label_distributions_, shares, atol=1e-12)
    np.testing.assert_allclose(model.X_fit_, unit_rows(X))


def test_plda_lowers_the_cost_of_what_the_weights_favor():
    X, table, _ = weighted()
    # Without a graph's help and at a large reward each row takes its heaviest candidate.
    model = PLDATransformer(rho=1e4, lam=0.0).fit(X, table)
    np.testing.assert_array_equal(model.label_distributions_.argmax(axis=1), table.argmax(axis=1))
