import numpy as np
import pytest
from literal import graph_step, kernel_classifier, knn, unit_rows
from literal_methods import LiteralAGGD
from optimality import assert_no_better_confidences
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


def test_is_pl_cl_without_its_complementary_classifier():
    X, Y, _ = ambiguous(n=60, seed=2)
    options = {"gamma": 0.7, "mu": 1.5, "reg": 0.1, "n_neighbors": 6, "max_iter": 6, "tol": 0}
    model = PLAGGD(**options).fit(X, Y)
    other = PLCL(complementary=False, **options).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, other.label_distributions_, atol=1e-9)
    assert abs(model.graph_ - other.graph_).max() < 1e-9
