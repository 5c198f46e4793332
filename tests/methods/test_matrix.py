"""Every method × every form of input × every degenerate case: the contract that all share.

What is particular to a method is tested in the method's own file.
"""

import pickle
import tracemalloc
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from core_methods import CORE_CLASSES, quick
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import kernel_classifier
from optimality import assert_graph, assert_on_candidate_simplices
from problems import ambiguous
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import (
    IPAL,
    LALO,
    PLAGGD,
    PLCL,
    PLCP,
    PLDA,
    PLKNN,
    SURE,
    PLDATransformer,
    PLStacking,
    PLVoting,
)

KERNEL_METHODS = [PLCL, LALO, SURE, PLAGGD]
NEIGHBOR_METHODS = [PLKNN, IPAL, PLDA]
ITERATIVE_METHODS = [PLCL, IPAL, LALO, SURE, PLAGGD, PLDA]
ENSEMBLES = [PLVoting, PLStacking]
ITERATING = {PLDA: PLDATransformer}  # the estimator that iterates, if it is not the method
NAMES = np.array(["ant", "bee", "cow", "dog"])

every_method = pytest.mark.parametrize("method", CORE_CLASSES)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def assert_sound(model, X, Y):
    """What holds for every fit, however odd the data."""
    P = model.label_distributions_
    assert P.shape == np.shape(Y)
    assert (P >= 0).all()
    assert (P[np.asarray(Y) == 0] == 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-9)
    chosen = np.searchsorted(model.classes_, model.transduction_)
    assert (np.asarray(Y)[np.arange(len(P)), chosen] == 1).all()
    np.testing.assert_array_equal(P[np.arange(len(P)), chosen], P.max(axis=1))
    scores, confidences = model.decision_function(X), model.predict_proba(X)
    assert np.isfinite(scores).all()
    assert (confidences >= 0).all()
    np.testing.assert_allclose(confidences.sum(axis=1), 1, atol=1e-9)
    best = confidences.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[best], model.predict(X))
    if len(model.classes_) == 2:
        assert scores.shape == (len(P),)
        np.testing.assert_array_equal(scores > 0, best == 1)
    else:
        assert scores.shape == np.shape(Y)
        np.testing.assert_array_equal(scores.argmax(axis=1), best)


def assert_same_fit(a, b, X_a, X_b, atol=1e-9):
    confidences = [
        P.toarray() if sparse.issparse(P) else P
        for P in (a.label_distributions_, b.label_distributions_)
    ]
    np.testing.assert_allclose(*confidences, atol=atol)
    np.testing.assert_allclose(a.decision_function(X_a), b.decision_function(X_b), atol=atol)
    np.testing.assert_allclose(a.predict_proba(X_a), b.predict_proba(X_b), atol=atol)


def to_sets(Y):
    return [set(NAMES[row.astype(bool)]) for row in Y]


def with_zeros(X):
    """The same rows with zeros, for sparse formats."""
    return np.where(np.abs(X) < 0.3, 0, X)


@cache
def fitted(method, change=None):
    """A quick fit to :func:`ambiguous` data, for tests that only read it."""
    X, Y, _ = ambiguous()
    return quick(method).fit(X if change is None else change(X), Y)


# --- forms of input -----------------------------------------------------------------------------

# All other forms are read by the base class: see tests/candidates and tests/test_validation.py.
CANDIDATE_FORMS = {
    "list of sets": to_sets,
    "pandas frame": lambda Y: pd.DataFrame(Y, columns=NAMES),
    "CSR mask": sparse.csr_array,
}


@every_method
@pytest.mark.parametrize("form", CANDIDATE_FORMS)
def test_forms_of_candidates(method, form):
    X, Y, _ = ambiguous()
    convert, is_sparse = CANDIDATE_FORMS[form], form == "CSR mask"
    expected, model = fitted(method), quick(method).fit(X, convert(Y))
    assert isinstance(model.label_distributions_, sparse.csr_array) == is_sparse
    assert model.classes_.tolist() == ([0, 1, 2, 3] if is_sparse else NAMES.tolist())
    assert_same_fit(model, expected, X, X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.predict(X)])
    np.testing.assert_array_equal(
        model.transduction_, model.classes_[np.searchsorted(range(4), expected.transduction_)]
    )
    assert model.score(X, convert(Y)) == expected.score(X, Y)


FEATURE_FORMS = {
    "list": (lambda X: X.tolist(), 1e-9),
    "pandas frame": (lambda X: pd.DataFrame(X, columns=list("abcd")), 1e-6),
    "CSR": (sparse.csr_array, 1e-6),
}


@every_method
@pytest.mark.parametrize("form", FEATURE_FORMS)
def test_forms_of_features(method, form):
    X, Y, _ = ambiguous()
    X = with_zeros(X)
    convert, atol = FEATURE_FORMS[form]
    expected, model = fitted(method, with_zeros), quick(method).fit(convert(X), Y)
    assert_same_fit(model, expected, convert(X), X, atol=atol)
    assert model.n_features_in_ == 4
    if "frame" in form:
        assert model.feature_names_in_.tolist() == list("abcd")
        with pytest.raises(ValueError, match="feature names"):
            model.predict(pd.DataFrame(X, columns=list("abcx")))


@every_method
def test_single_precision_and_integers_are_taken_as_doubles(method):
    X, Y, _ = ambiguous()
    for kind in (np.float32, np.int64):
        coarse = (10 * X).astype(kind)
        expected = quick(method).fit(coarse.astype(float), Y)
        assert_same_fit(quick(method).fit(coarse, Y), expected, coarse, coarse.astype(float))


@every_method
def test_ordinary_labels_are_sets_of_one(method):
    X, _, y = ambiguous(n=60)
    for labels in (y, NAMES[y], NAMES[y].tolist(), pd.Series(NAMES[y]), pl.Series(NAMES[y])):
        model = quick(method).fit(X, labels)
        assert_sound(model, X, np.eye(4)[y])
        np.testing.assert_array_equal(model.transduction_, np.asarray(labels))
    assert method().fit(X, y).score(X, y) > 0.8


# --- degenerate data ----------------------------------------------------------------------------


@every_method
def test_fewer_rows_than_neighbors(method):
    if not any(name.endswith("n_neighbors") for name in method()._settable_params()):
        pytest.skip("the method has no neighbors")
    X, Y, _ = ambiguous(n=6)
    with pytest.warns(UserWarning, match="n_neighbors=10 but there are only 6 rows") as caught:
        model = quick(method).fit(X, Y)
    assert {w.filename for w in caught} == {__file__}
    assert_sound(model, X, Y)
    if method in ENSEMBLES:  # whose members are as above
        return
    assert sum("n_neighbors" in str(w.message) for w in caught) == 1
    smaller = quick(method).set_params(n_neighbors=5).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, smaller.label_distributions_, atol=1e-9)


@every_method
def test_enough_rows_bring_no_warning(method):
    X, Y, _ = ambiguous(n=11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_sound(quick(method).fit(X, Y), X, Y)


@every_method
@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
def test_two_rows(method):
    X, Y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1, 0, 0], [0, 1, 1]])
    model = quick(method).fit(X, Y)
    assert_sound(model, X, Y)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        quick(method).fit(X[:1], Y[:1])


@every_method
def test_duplicate_rows(method):
    X, Y, y = ambiguous(n=60)
    X[30:], Y[30:] = X[:30], ambiguous(n=60, seed=1)[1][30:]
    Y[np.arange(30, 60), y[:30]] = 1  # other candidates, the same true label
    model = quick(method).fit(X, Y)
    assert_sound(model, X, Y)
    np.testing.assert_allclose(model.decision_function(X[:30]), model.decision_function(X[30:]))
    assert np.mean(model.predict(X[:30]) == y[:30]) > 0.6


@every_method
def test_a_row_repeated_more_often_than_there_are_neighbors(method):
    X, Y, _ = ambiguous(n=40)
    X[5:25] = X[4]
    assert_sound(quick(method).fit(X, Y), X, Y)


@every_method
def test_constant_features(method):
    X, Y, _ = ambiguous(n=40)
    padded = np.c_[X, np.zeros(40), np.zeros(40)]
    model = quick(method).fit(padded, Y)
    assert_same_fit(model, quick(method).fit(X, Y), padded, X, atol=1e-6)
    same = np.ones((40, 3))  # nothing to learn from
    model = quick(method).fit(same, Y)
    assert_sound(model, same, Y)
    np.testing.assert_allclose(
        model.decision_function(same), model.decision_function(same[:1])[[0] * 40]
    )


@every_method
def test_zero_rows(method):
    X, Y, _ = ambiguous(n=40)
    X[:3] = 0
    assert_sound(quick(method).fit(X, Y), X, Y)
    assert_sound(quick(method).fit(0 * X, Y), 0 * X, Y)


@every_method
def test_a_label_that_is_never_a_candidate(method):
    X, Y, _ = ambiguous()
    wider = np.insert(Y, 2, 0, axis=1)
    model, without = quick(method).fit(X, wider), quick(method).fit(X, Y)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert_sound(model, X, wider)
    assert 2 not in model.predict(np.concatenate([X, 100 * X, 0 * X]))
    if method in (PLCL, *ENSEMBLES):  # its complementary classifier learns that no row has it
        return
    kept = np.delete(model.label_distributions_, 2, axis=1)
    np.testing.assert_allclose(kept, without.label_distributions_, atol=1e-9)
    scores = np.delete(model.decision_function(X), 2, axis=1)
    np.testing.assert_allclose(scores, without.decision_function(X), atol=1e-9)


@every_method
def test_all_labels_candidates_for_some_rows(method):
    X, Y, y = ambiguous(n=60, extra=0.1)
    Y[:5] = 1
    model = quick(method).fit(X, Y)
    assert_sound(model, X, Y)
    assert np.mean(model.transduction_ == y) > 0.8
    assert np.mean(model.transduction_[:5] == y[:5]) >= 0.6  # the neighbors know better


@every_method
def test_all_labels_candidates_for_all_rows(method):
    X, Y, _ = ambiguous()
    model = method().fit(X, np.ones_like(Y))
    assert_sound(model, X, np.ones_like(Y))
    if method not in (SURE, PLVoting):  # SURE sharpens whatever comes first, also in a vote
        np.testing.assert_allclose(model.label_distributions_, 0.25, atol=1e-6)


@every_method
def test_one_label_and_two_labels(method):
    X, Y, _ = ambiguous(n=40, n_labels=2)
    assert_sound(quick(method).fit(X, Y), X, Y)
    model = quick(method).fit(X, ["only"] * 40)
    assert_sound(model, X, np.ones((40, 1)))
    assert set(model.predict(X)) == {"only"}


@pytest.mark.parametrize("method", KERNEL_METHODS)
def test_singletons_give_plain_kernel_ridge_classification(method):
    X, _, y = ambiguous(n=60)
    model = method().fit(X[:40], y[:40])
    K = np.exp(-(cdist(X, X[:40]) ** 2) / (2 * pdist(X[:40]).mean() ** 2))
    A, b, H = kernel_classifier(K[:40], np.eye(4)[y[:40]], 1 / (2 * model.reg))
    np.testing.assert_allclose(model.train_output_, H, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), K @ A / (2 * model.reg) + b, atol=1e-9)
    np.testing.assert_array_equal(model.transduction_, y[:40])
    assert model.n_iter_ == 1


@pytest.mark.parametrize("method", [*KERNEL_METHODS, PLCP])
def test_precomputed_linear_kernel_equals_the_linear_version(method):
    X, Y, _ = ambiguous(n=40, d=6)
    features = method(kernel="linear").fit(X[:30], Y[:30])
    given = method(kernel="precomputed").fit(X[:30] @ X[:30].T, Y[:30])
    assert_same_fit(given, features, X[30:] @ X[:30].T, X[30:], atol=1e-6)


# --- the contract -------------------------------------------------------------------------------


@every_method
def test_fits_are_sound(method):
    X, Y, y = ambiguous(n=90, d=6, n_labels=6)
    model = method().fit(X, Y)
    assert_sound(model, X, Y)
    assert np.mean(model.transduction_ == y) > 0.75
    chance = 1 / 6
    assert model.score(X, y) > 3 * chance


@pytest.mark.heavy
@every_method
def test_better_than_guessing_among_the_candidates(method, real_split):
    X, Y, y, X_test, y_test = real_split("lost")
    model = method().fit(X, Y)
    assert_sound(model, X, Y)
    assert np.mean(model.transduction_ == y) > np.mean(1 / Y.sum(axis=1)) + 0.05
    assert model.score(X_test, y_test) > 0.25


@every_method
def test_order_of_rows_and_labels_does_not_matter(method):
    X, Y, _ = ambiguous(n=60, d=10, n_labels=6)
    rng = np.random.default_rng(0)
    rows, labels = rng.permutation(60), rng.permutation(6)
    model = quick(method)
    model.set_params(**{"n_neighbors": 6} if "n_neighbors" in model.get_params() else {})
    model.fit(X, Y)
    other = clone(model).fit(X[rows], Y[rows][:, labels])
    np.testing.assert_allclose(
        other.label_distributions_, model.label_distributions_[rows][:, labels], atol=1e-6
    )
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X)[:, labels], atol=1e-6)


@every_method
def test_rows_are_predicted_one_by_one_as_together(method):
    X, Y, _ = ambiguous(n=60)
    model = quick(method).fit(X[:40], Y[:40])
    together = model.decision_function(X[40:])
    one_by_one = np.concatenate([model.decision_function(row[None]) for row in X[40:]])
    np.testing.assert_allclose(one_by_one, together, atol=1e-9)


@every_method
def test_fit_changes_neither_its_input_nor_its_parameters(method):
    X, Y, _ = ambiguous()
    kept = X.copy(), Y.copy()
    model = quick(method)
    parameters = model.get_params()
    model.fit(X, Y)
    model.predict(X)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(Y, kept[1])
    assert model.get_params() == parameters


@every_method
def test_a_second_fit_leaves_nothing_of_the_first(method):
    X, Y, _ = ambiguous()
    other = ambiguous(n=50, d=3, n_labels=3, seed=1)
    model = quick(method).fit(*other[:2]).fit(X, Y)
    assert_same_fit(model, quick(method).fit(X, Y), X, X)


@every_method
def test_pipeline_grid_search_clone_and_pickle(method):
    X, y = load_iris(return_X_y=True)
    mask = np.eye(3, dtype=int)[y]
    mask[np.arange(150), (y + np.random.default_rng(0).integers(3, size=150)) % 3] = 1
    order = np.random.default_rng(1).permutation(150)
    grid = {"plcl__reg": [0.03, 0.1]} if method in ENSEMBLES else method._tuning_grid
    name, values = next(iter(grid.items()))
    pipeline = make_pipeline(StandardScaler(), method())
    grid = {f"{method.__name__.lower()}__{name}": values[:2]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X[order], mask[order])
    assert (search.cv_results_["mean_test_score"] > 0.9).all()  # covering rate, no true label
    assert search.best_estimator_.score(X, y) > 0.8  # linear scores of single labels reach 0.83
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(X), search.best_estimator_.predict_proba(X))


BAD = {
    "n_neighbors": 0, "reg": 0, "mu": -1, "rho": -1, "gamma": -1, "lam": -0.1, "alpha": -0.5,
    "beta": -1,
    "kernel": "poly", "sigma": 0, "max_iter": 0, "tol": -1, "verbose": -2, "assignment": "firm",
    "graph": "yes", "complementary": 3, "neighbors": "nearest", "n_landmarks": 0,
    "landmarks": "grid", "random_state": "seed", "kappa": 0, "base_iter": 0,
    "partner_iter": 0, "graph_on": "X",
    "estimators": 3, "final_estimator": 3,
    "weights": 3, "restore_mass": "yes", "passthrough": "yes", "cv": "five", "n_jobs": "two",
}  # fmt: skip


@every_method
def test_errors_name_the_parameter(method):
    X, Y, _ = ambiguous(n=20)
    for parameter in method().get_params():
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of {method.__name__}"):
            method(**{parameter: BAD.get(parameter, object())}).fit(X, Y)


@pytest.mark.parametrize(("method", "alpha"), [(PLCL, 0), (IPAL, 1.0)])
def test_bounds_that_are_not_allowed_themselves(method, alpha):
    X, Y, _ = ambiguous(n=20)
    with pytest.raises(ValueError, match=f"'alpha' parameter of {method.__name__}"):
        method(alpha=alpha).fit(X, Y)


# --- iterations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ITERATIVE_METHODS)
def test_convergence(method):
    X, Y, _ = ambiguous(n=60)
    name = ITERATING.get(method, method).__name__
    with pytest.warns(ConvergenceWarning, match=f"{name} stopped after max_iter=1") as caught:
        model = method(max_iter=1, tol=1e-9).fit(X, Y)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1
    assert method is IPAL or len(model.objective_) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert method(max_iter=3, tol=0).fit(X, Y).n_iter_ <= 3
        assert method(max_iter=500).fit(X, Y).n_iter_ < 100


@pytest.mark.parametrize("method", KERNEL_METHODS)
@settings(max_examples=20)
@given(st.data())
def test_solutions_are_feasible_and_the_objective_never_rises(method, data):
    X, Y, _ = ambiguous(n=25, extra=0.4, seed=data.draw(st.integers(0, 10**6)))
    weights, switches = st.floats(0.001, 4), st.sampled_from([True, False])
    choices = dict.fromkeys(("alpha", "beta", "gamma", "lam", "mu", "reg"), weights)
    choices |= dict.fromkeys(("complementary", "graph"), switches)
    choices |= {"kernel": st.sampled_from(["rbf", "linear"]), "n_neighbors": st.just(5)}
    own = [name for name in choices if name in method().get_params()]
    params = {name: data.draw(choices[name], label=name) for name in own}
    model = method(**params, max_iter=15, tol=0).fit(X, Y)
    assert_on_candidate_simplices(model.label_distributions_, Y)
    if params.get("complementary"):
        Q = model.complementary_distributions_
        assert ((Q >= 1 - Y) & (Q <= 1)).all()
    if method in (PLCL, PLAGGD) and params.get("graph", True):
        assert_graph(model.graph_.toarray(), 5)
    assert (np.diff(model.objective_) <= 1e-7 * abs(model.objective_[0])).all()


@pytest.mark.parametrize("method", ITERATIVE_METHODS)
def test_verbose_prints_a_line_per_iteration(method, capsys):
    X, Y, _ = ambiguous()
    model = method(verbose=1).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith(f"[{ITERATING.get(method, method).__name__}] iteration   1   ")
    assert all("iteration" in line and "change" in line for line in lines)
    assert all(("objective" in line) == (method is not IPAL) for line in lines)


@pytest.mark.parametrize("method", NEIGHBOR_METHODS)
def test_no_matrix_of_all_pairs_of_rows(method):
    """Peak memory of fit and predict is far below one n×n matrix."""
    n = 4000
    X, Y, _ = ambiguous(n=n, d=20, n_labels=5)
    tracemalloc.start()
    try:
        quick(method).fit(X, Y).predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n**2 * 8 / 4
