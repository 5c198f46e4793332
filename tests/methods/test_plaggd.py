import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import confidence_step, graph_step, kernel_classifier, knn, unit_rows
from literal_methods import LiteralAGGD
from optimality import assert_graph, assert_no_better_confidences, assert_on_candidate_simplices
from problems import ambiguous
from scipy.spatial.distance import cdist, pdist

from ambilearn import PLAGGD, PLCL


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"gamma": 0.1, "mu": 4.0, "reg": 1.0},
        {"gamma": 2.0, "mu": 0.01, "reg": 0.003},
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_the_published_algorithm(parameters, seed):
    X, Y, _ = ambiguous(n=60, d=12, n_labels=5, seed=seed)
    model = PLAGGD(n_neighbors=6, max_iter=8, tol=0, **parameters).fit(X[:45], Y[:45])
    letters = {"gamma": "lam", "mu": "mu", "reg": "gamma"}  # ours → the paper's
    theirs = {letters[name]: value for name, value in parameters.items()}
    literal = LiteralAGGD(k=6, iterations=8, **theirs).fit(X[:45], Y[:45])
    np.testing.assert_allclose(model.label_distributions_, literal.P, atol=1e-5)
    np.testing.assert_allclose(model.train_output_, literal.H, atol=1e-5)
    np.testing.assert_allclose(model.graph_.toarray(), literal.G.T, atol=1e-3)
    np.testing.assert_allclose(model.objective_, literal.objective, rtol=1e-5)
    np.testing.assert_allclose(model.decision_function(X[45:]), literal.scores(X[45:]), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data_agrees_with_the_published_algorithm(real_split, name):
    X, Y, _, X_test, _ = real_split(name)
    X, Y = X[:120], Y[:120]  # the literal version takes its time
    model = PLAGGD(max_iter=2, tol=0).fit(X, Y)
    literal = LiteralAGGD(iterations=2).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, literal.P, atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X_test), literal.scores(X_test), atol=1e-4)


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.floats(0.001, 4),
    st.floats(0.001, 4),
    st.floats(0.001, 10),
    st.sampled_from(["rbf", "linear"]),
)
def test_solution_is_feasible_and_the_objective_never_rises(seed, gamma, mu, reg, kernel):
    X, Y, _ = ambiguous(n=25, extra=0.4, seed=seed)
    model = PLAGGD(
        gamma=gamma, mu=mu, reg=reg, n_neighbors=5, kernel=kernel, max_iter=15, tol=0
    ).fit(X, Y)
    assert_on_candidate_simplices(model.label_distributions_, Y)
    assert_graph(model.graph_.toarray(), 5)
    assert (np.diff(model.objective_) <= 1e-7 * model.objective_[0]).all()


def test_a_converged_fit_is_stationary_in_every_block():
    X, Y, _ = ambiguous(n=50, seed=3)
    model = PLAGGD(n_neighbors=5, tol=1e-11, max_iter=5000).fit(X, Y)
    P, W = model.label_distributions_, model.graph_.toarray()
    K = np.exp(-(cdist(X, X) ** 2) / (2 * pdist(X).mean() ** 2))
    H = kernel_classifier(K, P, 1 / 0.1)[2]
    np.testing.assert_allclose(model.train_output_, H, atol=1e-7)
    I_W = np.eye(50) - W
    gradient = (P - H) + I_W.T @ (I_W @ P)
    assert_no_better_confidences(gradient, P, Y)
    unit = unit_rows(X)
    best = graph_step(unit, P, knn(unit, 5), 1.0, 1.0).T

    def rebuild(graph):
        return np.sum((unit - graph @ unit) ** 2) + np.sum((P - graph @ P) ** 2)

    assert rebuild(W) == pytest.approx(rebuild(best), rel=1e-6)


def test_objective_is_the_papers():
    X, Y, _ = ambiguous(n=40, d=3)
    model = PLAGGD(
        gamma=1.3, mu=0.9, reg=0.2, n_neighbors=5, kernel="linear", max_iter=3, tol=0
    ).fit(X, Y)
    P, W, unit = model.label_distributions_, model.graph_, unit_rows(X)
    expected = (
        np.sum((X @ model.coef_.T + model.intercept_ - P) ** 2)
        + 0.2 * np.sum(model.coef_**2)
        + 0.9 * np.sum((P - W @ P) ** 2)
        + 1.3 * np.sum((unit - W @ unit) ** 2)
    )
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-9)


def test_starts_from_the_smoothest_confidences():
    X, Y, _ = ambiguous(n=40, d=12)
    unit = unit_rows(X)
    G = graph_step(unit, np.zeros((40, 1)), knn(unit, 6), 1.0, 0.0)
    start = confidence_step(np.zeros(Y.shape), G, Y, 0.0)
    K = np.exp(-(cdist(X, X) ** 2) / (2 * pdist(X).mean() ** 2))
    H = kernel_classifier(K, start, 1 / 0.1)[2]
    G = graph_step(unit, start, knn(unit, 6), 1.0, 1.0)
    model = PLAGGD(n_neighbors=6, max_iter=1, tol=0).fit(X, Y)
    expected = confidence_step(H, G, Y, 2.0)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-5)


def test_is_pl_cl_without_its_complementary_classifier():
    X, Y, _ = ambiguous(n=60, seed=2)
    options = {"gamma": 0.7, "mu": 1.5, "reg": 0.1, "n_neighbors": 6, "max_iter": 6, "tol": 0}
    model = PLAGGD(**options).fit(X, Y)
    other = PLCL(complementary=False, **options).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, other.label_distributions_, atol=1e-9)
    assert abs(model.graph_ - other.graph_).max() < 1e-9


def test_without_weight_on_the_labels_the_graph_does_not_reach_the_confidences():
    X, Y, _ = ambiguous()
    a, b = (PLAGGD(mu=0.0, n_neighbors=k, tol=1e-9, max_iter=2000).fit(X, Y) for k in (3, 9))
    assert a.objective_[-1] != b.objective_[-1]  # another graph rebuilds the features
    np.testing.assert_allclose(a.label_distributions_, b.label_distributions_, atol=0.05)


def test_defaults_are_the_papers():
    defaults = PLAGGD().get_params()
    expected = {"gamma": 1.0, "mu": 1.0, "reg": 0.05, "n_neighbors": 10, "max_iter": 20}
    assert {name: defaults[name] for name in expected} == expected
