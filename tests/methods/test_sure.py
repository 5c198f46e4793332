import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import kernel_classifier
from literal_methods import LiteralSURE, sharpest
from optimality import assert_on_candidate_simplices
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


@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0])
def test_the_step_cannot_be_beaten_by_random_points(lam):
    rng = np.random.default_rng(0)
    q = rng.normal(0.2, 0.5, size=6)
    p = sharpen(q[None], np.ones((1, 6), dtype=int), lam)[0]
    value = np.sum((p - q) ** 2) - lam * p.max()
    points = np.concatenate(
        [rng.dirichlet(np.full(6, a), size=20_000) for a in (0.1, 0.5, 2)] + [np.eye(6)]
    )
    others = np.sum((points - q) ** 2, axis=1) - lam * points.max(axis=1)
    assert value <= others.min() + 1e-12


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


@settings(max_examples=20)
@given(
    st.integers(0, 10**6), st.floats(0, 2), st.floats(0.001, 10), st.sampled_from(["rbf", "linear"])
)
def test_solution_is_feasible_and_the_objective_never_rises(seed, lam, reg, kernel):
    X, Y, _ = ambiguous(n=25, extra=0.4, seed=seed)
    model = SURE(lam=lam, reg=reg, kernel=kernel, max_iter=15, tol=0).fit(X, Y)
    P = model.label_distributions_
    assert_on_candidate_simplices(P, Y)
    assert (np.diff(model.objective_) <= 1e-8 * abs(model.objective_[0])).all()


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


def test_more_reward_sharpens_the_confidences():
    X, Y, _ = ambiguous(n=60, extra=0.5)
    sharp = [
        SURE(lam=lam).fit(X, Y).label_distributions_.max(axis=1).mean() for lam in (0, 0.1, 0.3, 2)
    ]
    assert (np.diff(sharp) > 0).all()
    assert sharp[-1] == pytest.approx(1)  # λ = 2 makes every row choose


def test_defaults_are_the_common_ones():
    defaults = SURE().get_params()
    assert (defaults["lam"], defaults["reg"], defaults["max_iter"]) == (0.3, 0.05, 50)
