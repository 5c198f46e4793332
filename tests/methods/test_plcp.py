import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_methods import blur, complementary_step, plcp
from optimality import assert_no_better_confidences, assert_on_candidate_simplices
from problems import ambiguous, random_mask, support
from sklearn.exceptions import ConvergenceWarning

from ambilearn import PLAGGD, PLCP
from ambilearn.base import project_rows
from ambilearn.rows import TrainingRows

KAPPA = np.exp(-1)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# --- against the oracle -------------------------------------------------------------------------


@pytest.mark.slow
def test_agrees_with_the_published_algorithm():
    X, Y, _ = ambiguous(n=50, d=12, n_labels=5, extra=0.5)
    A, B, new = X[:35], Y[:35], X[35:]
    model = PLCP(n_neighbors=6, max_iter=3, base_iter=3, partner_iter=5, kappa=2.0).fit(A, B)
    options = {"k": 6, "stages": 3, "rounds": 3, "steps": 5, "kappa": 2.0}
    literal = plcp(A, B, new, **options)
    np.testing.assert_allclose(model.label_distributions_, 1 - literal.Q, atol=1e-5)
    np.testing.assert_allclose(model.train_output_, 1 - literal.G, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(new), literal.scores, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data_agrees_with_the_published_algorithm(real_split, name):
    X, Y, _, X_test, _ = real_split(name)
    X, Y = X[:80], Y[:80]  # the literal version takes its time
    model = PLCP(max_iter=2, base_iter=2, partner_iter=3).fit(X, Y)
    literal = plcp(X, Y, X_test, stages=2, rounds=2, steps=3)
    np.testing.assert_allclose(model.label_distributions_, 1 - literal.Q, atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X_test), literal.scores, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_complementary_program_is_a_projection(seed):
    rng = np.random.default_rng(seed)
    Y = random_mask(rng, 20, 5)
    G, B = rng.normal(size=Y.shape), blur(rng.random(Y.shape), Y, 1.0)
    projected = project_rows(np.where(Y > 0, 1 - G + B, -np.inf))
    np.testing.assert_allclose(1 - complementary_step(G, B, Y), projected, atol=1e-6)


# --- the partner --------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [None, 1.4])
def test_the_partner_minimizes_its_objective(rho):
    X, Y, _ = ambiguous(n=50, extra=0.5)
    table = Y if rho is None else Y * np.random.default_rng(0).uniform(0.2, 1.0, Y.shape)
    rho = 0.0 if rho is None else rho
    model = PLCP(max_iter=1, partner_iter=5000, rho=rho).fit(X, table)
    base = PLAGGD(max_iter=10, tol=0, rho=rho).fit(X, table)
    sets = support(table)
    start = sets.scatter(TrainingRows(X).adaptive_graph(sets, 10, "auto", of_kernel=False)[1])
    B = blur(np.clip((start + base.train_output_) / 2, 0, Y), Y, KAPPA)
    Z, reward = model.label_distributions_, sets.scatter(rho * sets.preference())
    assert_no_better_confidences(Z - model.train_output_ - B - reward / 2, Z, Y)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.floats(0.01, 20), st.floats(0.001, 10))
def test_solutions_are_feasible(seed, kappa, reg):
    X, Y, _ = ambiguous(n=25, extra=0.4, seed=seed)
    model = PLCP(kappa=kappa, reg=reg, n_neighbors=5, max_iter=2, partner_iter=5).fit(X, Y)
    assert_on_candidate_simplices(model.label_distributions_, Y)


# --- the contract -------------------------------------------------------------------------------


def test_stages(capsys):
    X, Y, y = ambiguous(n=60, extra=0.5)
    assert PLCP(verbose=1).fit(X, Y).n_iter_ == 5
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["[PLCP]", "iteration", str(i)] for i in range(1, 6)
    ]
    assert PLCP().fit(X, y).n_iter_ == 1  # nothing to disambiguate
    assert PLCP(max_iter=50, tol=1e-2).fit(X, Y).n_iter_ < 50
    with pytest.warns(ConvergenceWarning, match="PLCP stopped after max_iter=2") as caught:
        PLCP(max_iter=2, tol=1e-12).fit(X, Y)
    assert caught[0].filename == __file__


def test_defaults_are_the_authors():
    defaults = PLCP().get_params()
    expected = {"reg": 0.05, "base_iter": 10, "partner_iter": 30, "max_iter": 5, "kappa": None}
    assert {name: defaults[name] for name in expected} == expected
    X, Y, _ = ambiguous()
    np.testing.assert_array_equal(
        PLCP().fit(X, Y).decision_function(X), PLCP(kappa=KAPPA).fit(X, Y).decision_function(X)
    )


@pytest.mark.heavy
def test_the_partner_disambiguates_lost_better_than_the_base_alone(real_split):
    shares = []
    for seed in range(2):
        X, Y, y, _, _ = real_split("lost", seed)
        shares.append([np.mean(m.fit(X, Y).transduction_ == y) for m in (PLCP(), PLAGGD())])
    partner, alone = np.mean(shares, axis=0)
    assert partner > alone + 0.01


def test_a_large_kappa_does_not_overflow():
    X, Y, _ = ambiguous(n=30, d=4, n_labels=3, seed=0)
    model = PLCP(kappa=1e4, max_iter=2, tol=0).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_.sum(1), 1)
