import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import kernel_classifier
from literal_methods import LiteralSURE, sharpest
from problems import ambiguous, random_mask, support
from scipy.spatial.distance import cdist, pdist

from ambilearn.methods.sure import SURE
from ambilearn.solvers import CandidateSimplex


def sharpen(Q, Y, lam):
    """The step as SURE takes it: project q + λ/2 e_j, j the best candidate in q."""
    sets = support(Y)
    q = sets.gather(Q)
    q[sets.best_pairs(q)] += lam / 2
    return sets.scatter(CandidateSimplex(sets.indptr).project(q))


@given(st.integers(0, 10**6), st.floats(0, 3), st.floats(0, 1))
@settings(max_examples=25)
def test_the_step_is_the_best_over_all_candidates(seed, lam, extra):
    """The problem is not convex: solve it once per candidate, and none is better."""
    rng = np.random.default_rng(seed)
    Y, Q = random_mask(rng, 4, 5, extra), rng.normal(0.2, 0.6, size=(4, 5))
    for p, q, y in zip(sharpen(Q, Y, lam), Q, Y, strict=True):
        value = np.sum((p - q) ** 2) - lam * p.max()
        best = sharpest(q, y, lam)
        least = np.sum((best - q) ** 2) - lam * best.max()
        assert value == pytest.approx(least, abs=1e-7)


@pytest.mark.parametrize("parameters", [{}, {"lam": 1.0, "reg": 0.3}, {"lam": 0.0, "reg": 0.01}])
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_the_published_algorithm(parameters, seed):
    X, Y, _ = ambiguous(n=45, d=12, n_labels=5, seed=seed)
    model = SURE(max_iter=6, tol=0, **parameters).fit(X[:35], Y[:35])
    literal = LiteralSURE(iterations=6, **parameters).fit(X[:35], Y[:35])
    np.testing.assert_allclose(model.label_distributions_, literal.P, atol=1e-5)
    np.testing.assert_allclose(model.train_output_, literal.H, atol=1e-5)
    objective = np.array(literal.objective)[: model.n_iter_]
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(X[35:]), literal.scores(X[35:]), atol=1e-5)


def test_a_converged_fit_is_a_fixed_point():
    X, Y, _ = ambiguous(n=50, seed=3)
    model = SURE(tol=1e-12, max_iter=5000).fit(X, Y)
    K = np.exp(-(cdist(X, X) ** 2) / (2 * pdist(X).mean() ** 2))
    H = kernel_classifier(K, model.label_distributions_, 1 / 0.1)[2]
    np.testing.assert_allclose(model.train_output_, H, atol=1e-9)
    np.testing.assert_allclose(sharpen(H, Y, 0.3), model.label_distributions_, atol=1e-9)


def test_objective_is_the_papers():
    X, Y, _ = ambiguous(n=40, d=3)
    model = SURE(lam=0.7, reg=0.2, kernel="linear", max_iter=3, tol=0).fit(X, Y)
    P = model.label_distributions_
    expected = (
        np.sum((X @ model.coef_.T + model.intercept_ - P) ** 2)
        + 0.2 * np.sum(model.coef_**2)
        - 0.7 * P.max(axis=1).sum()
    )
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-9)
