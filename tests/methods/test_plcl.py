from types import SimpleNamespace

import numpy as np
import pytest
from literal import LiteralPLCL, kernel_classifier
from optimality import assert_no_better_confidences
from problems import ambiguous
from scipy.spatial.distance import cdist, pdist

from ambilearn import PLCL


def eight(**parameters):
    """PL-CL with the paper's eight iterations."""
    return PLCL(max_iter=8, tol=0, **parameters)


def assert_equal_fits(a, b, atol=1e-6):
    np.testing.assert_allclose(a.label_distributions_, b.label_distributions_, atol=atol)
    np.testing.assert_allclose(
        a.complementary_distributions_, b.complementary_distributions_, atol=atol
    )
    np.testing.assert_allclose(a.train_output_, b.train_output_, atol=atol)


def model_rows(model, rows):
    """The training outputs of a fit, in another order of the rows."""
    names = ("label_distributions_", "complementary_distributions_", "train_output_")
    return SimpleNamespace(**{name: getattr(model, name)[rows] for name in names})


def assert_equals_oracle(model, oracle, X_new, atol):
    assert np.abs(model.label_distributions_ - oracle.P).max() <= atol
    assert np.abs(model.train_output_ - oracle.H).max() <= atol
    if model.complementary:
        assert np.abs(model.complementary_distributions_ - oracle.Q).max() <= atol
        assert np.abs(model.complementary_train_output_ - oracle.H_hat).max() <= atol
    np.testing.assert_allclose(model.objective_, oracle.objective, rtol=10 * atol)
    scores = oracle.scores(X_new)
    best, second = np.sort(scores, axis=1)[:, :-3:-1].T
    clear = best - second > 2 * atol  # ties may go either way
    assert (model.predict(X_new)[clear] == scores.argmax(axis=1)[clear]).all()


# --- against the oracle -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"alpha": 4.0, "beta": 0.01, "gamma": 0.1, "mu": 4.0, "reg": 1.0},
        {"alpha": 1.0, "beta": 2.0, "gamma": 2.0, "mu": 0.001, "reg": 0.003},
        {"complementary": False},
        {"graph": False},
        {"complementary": False, "graph": False},
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_whole_fit_agrees_with_the_paper_solved_literally(parameters, seed):
    X, Y, _ = ambiguous(n=60, d=12, n_labels=5, seed=seed)
    model = eight(n_neighbors=6, **parameters).fit(X[:45], Y[:45])
    oracle = LiteralPLCL(k=6, **parameters).fit(X[:45], Y[:45])
    assert_equals_oracle(model, oracle, X[45:], atol=1e-5)
    if model.graph:
        np.testing.assert_allclose(model.graph_.toarray(), oracle.G.T, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), [("lost", 250), ("msrcv2", 150), ("fg-net", 100)])
def test_real_data_agrees_with_the_paper_solved_literally(real_split, name, rows):
    """The oracle's time grows with the number of labels, too: fewer rows where there are many."""
    X, Y, _, X_test, _ = real_split(name)
    X, Y = X[:rows], Y[:rows]
    model = eight().fit(X, Y)
    assert_equals_oracle(model, LiteralPLCL().fit(X, Y), X_test, atol=1e-4)


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "least"), [("lost", 0.68), ("msrcv2", 0.44), ("fg-net", 0.060)])
def test_accuracy_on_real_data(real_split, name, least):
    scores = []
    for seed in range(5):
        X, Y, _, X_test, y_test = real_split(name, seed)
        scores.append(PLCL().fit(X, Y).score(X_test, y_test))
    assert np.mean(scores) >= least


# --- properties of the solution -----------------------------------------------------------------


def test_a_converged_fit_is_stationary_in_every_block():
    """At the end, no block can be improved alone: P, Q and both classifiers fit each other."""
    X, Y, _ = ambiguous(n=50, seed=3)
    model = PLCL(n_neighbors=5, tol=1e-11, max_iter=5000).fit(X, Y)
    P, Q, W = model.label_distributions_, model.complementary_distributions_, model.graph_.toarray()
    K = np.exp(-(cdist(X, X) ** 2) / (2 * pdist(X).mean() ** 2))
    H = kernel_classifier(K, P, 1 / 0.06)[2]
    H_hat = kernel_classifier(K, Q, 0.5 / 0.06)[2]
    np.testing.assert_allclose(model.train_output_, H, atol=1e-7)
    mixed = (0.5 * H_hat + 0.5 * (1 - P)) / 1.0
    np.testing.assert_allclose(Q, np.clip(mixed, 1 - Y, 1), atol=1e-7)
    I_W = np.eye(50) - W
    gradient = (P - H) + 0.5 * (P + Q - 1) + I_W.T @ (I_W @ P)
    assert_no_better_confidences(gradient, P, Y)


def test_objective_is_equation_seven():
    X, Y, _ = ambiguous(n=40, d=3)
    model = PLCL(
        alpha=0.3,
        beta=0.7,
        gamma=1.3,
        mu=0.9,
        reg=0.2,
        n_neighbors=5,
        kernel="linear",
        max_iter=3,
        tol=0,
    ).fit(X, Y)
    P, Q, W = model.label_distributions_, model.complementary_distributions_, model.graph_
    H, H_hat = model.train_output_, model.complementary_train_output_
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    w_hat = np.linalg.lstsq(np.c_[X, np.ones(40)], H_hat, rcond=None)[0][:-1]  # H_hat = Xŵ + b̂
    expected = (
        np.sum((X @ model.coef_.T + model.intercept_ - P) ** 2)
        + 0.7 * np.sum((1 - P - Q) ** 2)
        + 0.3 * np.sum((H_hat - Q) ** 2)
        + 0.9 * np.sum((P - W @ P) ** 2)
        + 1.3 * np.sum((unit - W @ unit) ** 2)
        + 0.2 * (np.sum(model.coef_**2) + np.sum(w_hat**2))
    )
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(H, X @ model.coef_.T + model.intercept_, atol=1e-10)


# --- degenerate models and data -----------------------------------------------------------------


@pytest.mark.parametrize("complementary", [True, False])
def test_without_graph_nothing_of_the_graph_remains(complementary):
    X, Y, _ = ambiguous()
    model = eight(graph=False, complementary=complementary).fit(X, Y)
    other = eight(graph=False, complementary=complementary, mu=3.0, gamma=7.0, n_neighbors=3).fit(
        X, Y
    )
    np.testing.assert_array_equal(model.label_distributions_, other.label_distributions_)
    assert not hasattr(model, "graph_")


def test_without_complementary_classifier_nothing_of_it_remains():
    X, Y, _ = ambiguous()
    model = eight(complementary=False).fit(X, Y)
    other = eight(complementary=False, alpha=3.0, beta=9.0).fit(X, Y)
    np.testing.assert_array_equal(model.label_distributions_, other.label_distributions_)
    assert not hasattr(model, "complementary_distributions_")
    assert not hasattr(model, "complementary_train_output_")


def test_ablations_are_limits_of_the_full_model():
    X, Y, _ = ambiguous()
    no_tie = eight(beta=0.0).fit(X, Y)
    np.testing.assert_allclose(
        no_tie.label_distributions_,
        eight(complementary=False).fit(X, Y).label_distributions_,
        atol=1e-9,
    )


# --- interface ----------------------------------------------------------------------------------


def test_training_outputs():
    X, Y, y = ambiguous(n=60)
    model = PLCL().fit(X, Y)
    np.testing.assert_array_equal(model.transduction_, model.label_distributions_.argmax(axis=1))
    np.testing.assert_allclose(model.train_output_, model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(model.train_output_.sum(axis=1), 1)  # a smoother of simplex rows
    assert np.mean(model.transduction_ == y) > 0.8
    # p + q = 1 is what ties the two confidences
    candidates = Y == 1
    total = model.label_distributions_ + model.complementary_distributions_
    assert (
        np.corrcoef(
            model.label_distributions_[candidates], model.complementary_distributions_[candidates]
        )[0, 1]
        < -0.8
    )
    assert np.abs(total[candidates] - 1).mean() < 0.25
