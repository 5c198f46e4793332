from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import LiteralPLCL, kernel_classifier
from optimality import assert_graph, assert_no_better_confidences, assert_on_candidate_simplices
from problems import ambiguous
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

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


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.floats(0.001, 4),
    st.floats(0.001, 4),
    st.floats(0.001, 4),
    st.floats(0.001, 4),
    st.floats(0.001, 10),
    st.sampled_from(["rbf", "linear"]),
    st.booleans(),
    st.booleans(),
)
def test_solution_is_feasible_and_the_objective_never_rises(
    seed, alpha, beta, gamma, mu, reg, kernel, complementary, graph
):
    X, Y, _ = ambiguous(n=25, extra=0.4, seed=seed)
    weights = {"alpha": alpha, "beta": beta, "gamma": gamma, "mu": mu, "reg": reg}
    switches = {"complementary": complementary, "graph": graph, "kernel": kernel}
    model = PLCL(**weights, **switches, n_neighbors=5, max_iter=15, tol=0).fit(X, Y)
    assert_on_candidate_simplices(model.label_distributions_, Y)
    if complementary:
        Q = model.complementary_distributions_
        assert ((Q >= 1 - Y) & (Q <= 1)).all()
    if graph:
        assert_graph(model.graph_.toarray(), 5)
    assert (np.diff(model.objective_) <= 1e-7 * model.objective_[0]).all()


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


def test_number_of_threads_does_not_matter_beyond_rounding():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    X, Y, _ = ambiguous(n=150, d=20)
    models = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            models.append(PLCL().fit(X, Y))
    assert_equal_fits(*models)


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


def test_a_label_that_is_never_a_candidate_is_never_predicted():
    X, Y, _ = ambiguous()
    Y = np.insert(Y, 2, 0, axis=1)
    model, without = PLCL().fit(X, Y), PLCL().fit(X, np.delete(Y, 2, axis=1))
    np.testing.assert_allclose(model.predict_proba(X)[:, 2], 0, atol=1e-9)
    np.testing.assert_allclose(
        np.delete(model.predict_proba(X), 2, axis=1), without.predict_proba(X), atol=1e-2
    )


def test_duplicate_rows():
    X, Y, _ = ambiguous(n=40, d=12)
    X[20:] = X[:20]  # with other candidate sets
    model = PLCL().fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    np.testing.assert_allclose(model.decision_function(X[:20]), model.decision_function(X[20:]))
    W = model.graph_.toarray()
    assert (np.diag(W) == 0).all()  # rebuilt from its twin, not from itself
    assert (np.diff(model.objective_) <= 1e-7 * model.objective_[0]).all()
    rows = np.random.default_rng(0).permutation(40)
    # Nine neighbors, the twin and four pairs: no tie decides who is one.
    nine = PLCL(n_neighbors=9)
    reordered = model_rows(clone(nine).fit(X, Y), rows)
    assert_equal_fits(nine.fit(X[rows], Y[rows]), reordered)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_constant_features_and_constant_rows(kernel):
    X, Y, _ = ambiguous(n=30)
    padded = np.c_[X, np.full(30, 7.0)]
    model = PLCL(kernel=kernel).fit(padded, Y)
    assert np.isfinite(model.decision_function(padded)).all()
    same = PLCL(kernel=kernel).fit(np.ones((30, 3)), Y)  # nothing to learn from X
    scores = same.decision_function(np.ones((2, 3)))
    np.testing.assert_allclose(scores[0], same.label_distributions_.mean(axis=0), atol=1e-2)


# --- interface ----------------------------------------------------------------------------------


def test_default_parameters_are_the_authors():
    defaults = PLCL().get_params()
    expected = {"alpha": 0.5, "beta": 0.5, "gamma": 1.0, "mu": 1.0, "reg": 0.03, "n_neighbors": 10}
    assert {name: defaults[name] for name in expected} == expected


def test_alpha_must_be_positive():
    X, Y, _ = ambiguous(n=20)
    with pytest.raises(ValueError, match="'alpha' parameter of PLCL"):
        PLCL(alpha=0).fit(X, Y)


def test_sparse_rows_give_the_same_linear_fit():
    X, Y, _ = ambiguous(n=50, d=8)
    X[np.abs(X) < 0.3] = 0
    dense = PLCL(kernel="linear").fit(X, Y)
    thin = PLCL(kernel="linear").fit(sparse.csr_array(X), Y)
    assert_equal_fits(dense, thin)
    np.testing.assert_allclose(
        thin.decision_function(sparse.csc_matrix(X)), dense.decision_function(X), atol=1e-6
    )


def test_callable_kernel_equals_the_built_in_one():
    X, Y, _ = ambiguous()
    ours = PLCL(sigma=2.0).fit(X, Y)
    theirs = PLCL(kernel=lambda A, B: np.exp(-cdist(A, B, "sqeuclidean") / 8)).fit(X, Y)
    assert_equal_fits(ours, theirs)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


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


def test_cross_validation_slices_a_precomputed_kernel():
    X, Y, _ = ambiguous(n=60)
    K = X @ X.T
    given_K = cross_val_score(PLCL(kernel="precomputed"), K, Y, cv=3)
    np.testing.assert_allclose(given_K, cross_val_score(PLCL(kernel="linear"), X, Y, cv=3))


def test_a_second_fit_replaces_the_first():
    X, Y, _ = ambiguous()
    model = PLCL().fit(X, Y).set_params(graph=False, complementary=False, kernel="linear")
    model.fit(X[:, :2], Y)
    for name in ("graph_", "complementary_distributions_", "dual_coef_", "X_fit_"):
        assert not hasattr(model, name)
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="empty"):
        model.fit(X, np.zeros_like(Y))
    model.predict(X[:, :2])  # a fit that was rejected leaves the model as it was
