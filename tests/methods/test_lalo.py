import numpy as np
import pytest
from literal import kernel_classifier
from literal_methods import LiteralLALO, similarity_graph
from optimality import assert_no_better_confidences
from problems import ambiguous
from scipy.spatial.distance import cdist, pdist

from ambilearn import LALO


@pytest.mark.parametrize(
    "parameters", [{}, {"reg": 1.0, "mu": 2.0}, {"reg": 0.003, "mu": 0.1}, {"mu": 0.0}]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_the_published_algorithm(parameters, seed):
    X, Y, _ = ambiguous(n=60, d=12, n_labels=5, seed=seed)
    model = LALO(n_neighbors=6, max_iter=10, tol=0, **parameters).fit(X[:45], Y[:45])
    literal = LiteralLALO(k=6, iterations=10, **parameters).fit(X[:45], Y[:45])
    np.testing.assert_allclose(model.label_distributions_, literal.P, atol=1e-5)
    np.testing.assert_allclose(model.train_output_, literal.H, atol=1e-5)
    np.testing.assert_allclose(model.objective_, literal.objective, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(X[45:]), literal.scores(X[45:]), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data_agrees_with_the_published_algorithm(real_split, name):
    X, Y, _, X_test, _ = real_split(name)
    X, Y = X[:120], Y[:120]  # the literal version takes its time
    model = LALO(max_iter=2, tol=0).fit(X, Y)
    literal = LiteralLALO(iterations=2).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, literal.P, atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X_test), literal.scores(X_test), atol=1e-4)


def test_a_converged_fit_is_stationary_in_both_blocks():
    X, Y, _ = ambiguous(n=50, seed=3)
    model = LALO(mu=0.5, n_neighbors=5, tol=1e-11, max_iter=20000).fit(X, Y)
    P = model.label_distributions_
    K = np.exp(-(cdist(X, X) ** 2) / (2 * pdist(X).mean() ** 2))
    H = kernel_classifier(K, P, 1 / 0.1)[2]
    np.testing.assert_allclose(model.train_output_, H, atol=1e-7)
    L = np.eye(50) - similarity_graph(X, 5)[0]
    gradient = (P - H) + 0.5 * L @ P
    assert_no_better_confidences(gradient, P, Y)


def test_objective_is_the_papers():
    X, Y, _ = ambiguous(n=40, d=3)
    model = LALO(reg=0.2, mu=0.9, n_neighbors=5, kernel="linear", max_iter=3, tol=0).fit(X, Y)
    P = model.label_distributions_
    L = np.eye(40) - similarity_graph(X, 5)[0]
    expected = (
        np.sum((X @ model.coef_.T + model.intercept_ - P) ** 2)
        + 0.2 * np.sum(model.coef_**2)
        + 0.9 * np.trace(P.T @ L @ P)
    )
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-9)


def test_graph_is_that_of_the_features_as_given():
    X, Y, _ = ambiguous(n=40)
    X *= np.random.default_rng(0).uniform(0.2, 5, size=(40, 1))  # unit-length rows would differ
    model = LALO(n_neighbors=5).fit(X, Y)
    np.testing.assert_allclose(model.graph_.toarray(), similarity_graph(X, 5)[0], atol=1e-12)


def test_without_smoothing_the_neighbors_do_not_matter():
    X, Y, _ = ambiguous()
    a, b = (LALO(mu=0, n_neighbors=k).fit(X, Y) for k in (3, 9))
    np.testing.assert_allclose(a.label_distributions_, b.label_distributions_, atol=1e-9)
