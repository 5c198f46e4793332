import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_methods import plda, plda_new_rows, plknn_votes, prototypes, similarity_graph
from optimality import assert_no_better_confidences, assert_on_candidate_simplices
from problems import ambiguous
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, SURE, PLDATransformer

CLASSIFIERS = [PLCL, PLKNN, IPAL, LALO, SURE, PLAGGD]


# --- against the oracle -------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"lam": 1.0}, {"lam": 0.2}])
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_the_published_algorithm(parameters, seed):
    X, Y, _ = ambiguous(n=60, d=12, n_labels=5, seed=seed)
    A, B, new = X[:45], Y[:45], X[45:]
    transformer = PLDATransformer(n_neighbors=6, max_iter=8, tol=0, **parameters)
    augmented = transformer.fit_transform(A, B)
    literal = plda(A, B, k=6, iterations=8, **parameters)
    np.testing.assert_allclose(transformer.label_distributions_, literal.F, atol=1e-5)
    np.testing.assert_allclose(transformer.prototypes_, literal.C, atol=1e-5)
    np.testing.assert_allclose(augmented, literal.augmented, atol=1e-5)
    assert transformer.objective_[-1] == pytest.approx(literal.objective[-1], rel=1e-6)
    assert transformer.sigma_ == pytest.approx(literal.sigma)
    for assignment in ("hard", "soft"):
        transformer.set_params(assignment=assignment)
        expected = plda_new_rows(literal, new, 6, hard=assignment == "hard")
        np.testing.assert_allclose(transformer.transform(new), expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data_agrees_with_the_published_algorithm(real_split, name):
    X, Y, _, X_test, _ = real_split(name)
    X, Y = X[:120], Y[:120]  # the literal version takes its time
    transformer = PLDATransformer(max_iter=3, tol=0)
    augmented = transformer.fit_transform(X, Y)
    literal = plda(X, Y, iterations=3)
    np.testing.assert_allclose(transformer.objective_, literal.objective, rtol=1e-6)
    np.testing.assert_allclose(augmented, literal.augmented, atol=1e-3)
    # Where duplicates tie for the tenth place among the neighbors, either may be asked.
    tenth = np.sort(cdist(X_test, X), axis=1)[:, 9:11]
    clear = X_test[tenth[:, 1] - tenth[:, 0] > 1e-9]
    assert len(clear) > 0.95 * len(X_test)
    soft = transformer.set_params(assignment="soft").transform(clear)
    np.testing.assert_allclose(soft, plda_new_rows(literal, clear, 10, hard=False), atol=1e-3)


def test_the_classifier_votes_among_the_augmented_rows():
    X, Y, _ = ambiguous(n=60, d=12, n_labels=5)
    A, B, new = X[:45], Y[:45], X[45:]
    model = PLDA(n_neighbors=6, max_iter=8, tol=0).fit(A, B)
    literal = plda(A, B, k=6, iterations=8)
    rows = plda_new_rows(literal, new, 6)
    expected = [plknn_votes(x, literal.augmented, B, 6) for x in rows]
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-5)
    np.testing.assert_allclose(model.label_distributions_, literal.F, atol=1e-5)


# --- properties of the solution -----------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0, 10), st.floats(0, 1))
def test_solution_is_feasible_and_the_objective_never_rises(seed, lam, extra):
    X, Y, _ = ambiguous(n=25, extra=extra, seed=seed)
    transformer = PLDATransformer(lam=lam, n_neighbors=5, max_iter=15, tol=0).fit(X, Y)
    F = transformer.label_distributions_
    assert_on_candidate_simplices(F, Y)
    assert (np.diff(transformer.objective_) <= 1e-8 * transformer.objective_[0]).all()
    np.testing.assert_allclose(transformer.prototypes_, prototypes(X, F), atol=1e-9)


def test_a_converged_fit_is_stationary():
    X, Y, _ = ambiguous(n=50, seed=3)
    transformer = PLDATransformer(lam=0.3, n_neighbors=5, tol=1e-12, max_iter=1000).fit(X, Y)
    F, C = transformer.label_distributions_, transformer.prototypes_
    L = np.eye(50) - similarity_graph(X, 5)[0]
    gradient = 4 * L @ F + 0.3 * cdist(X, C) ** 2
    assert_no_better_confidences(gradient, F, Y)


def test_large_weight_gives_every_row_its_nearest_prototype():
    X, Y, _ = ambiguous(n=50)
    transformer = PLDATransformer(lam=1e4).fit(X, Y)
    distances = np.where(Y == 1, cdist(X, transformer.prototypes_), np.inf)
    np.testing.assert_array_equal(
        transformer.label_distributions_.argmax(axis=1), distances.argmin(axis=1)
    )
    assert transformer.label_distributions_.max(axis=1).min() > 0.99


# --- the transformer ----------------------------------------------------------------------------


def test_rows_far_away_take_the_nearest_rows_prototype():
    X, Y, _ = ambiguous(n=40)
    transformer = PLDATransformer(assignment="soft").fit(X, Y)
    far = 1e6 * np.ones((1, 4))  # all similarities underflow
    assert np.isfinite(transformer.transform(far)).all()
    nearest = cdist(far, X).argmin()
    expected = transformer.label_distributions_[nearest] @ transformer.prototypes_
    np.testing.assert_allclose(transformer.transform(far)[0, 4:], expected, atol=1e-9)


def test_sparse_rows_stay_sparse():
    X, Y, _ = ambiguous(n=60)
    X[np.abs(X) < 0.5] = 0
    for assignment in ("hard", "soft"):
        dense, thin = (PLDATransformer(assignment=assignment) for _ in range(2))
        a, b = (
            dense.fit_transform(X[:40], Y[:40]),
            thin.fit_transform(sparse.csr_array(X[:40]), Y[:40]),
        )
        assert b.format == thin.prototypes_.format == "csr"
        np.testing.assert_allclose(b.toarray(), a, atol=1e-7)
        new = thin.transform(sparse.csc_matrix(X[40:]))
        assert new.format == "csr"
        np.testing.assert_allclose(new.toarray(), dense.transform(X[40:]), atol=1e-7)


def test_names_and_frames():
    X, Y, _ = ambiguous()
    transformer = PLDATransformer().fit(X, Y)
    assert transformer.get_feature_names_out(["a", "b", "c", "d"]).tolist() == [
        "a", "b", "c", "d", "prototype_a", "prototype_b", "prototype_c", "prototype_d",
    ]  # fmt: skip
    assert transformer.get_feature_names_out()[4] == "prototype_x0"
    table = pd.DataFrame(X, columns=list("abcd"))
    framed = PLDATransformer().set_output(transform="pandas")
    augmented = framed.fit_transform(table, Y)
    assert augmented.columns.tolist() == framed.get_feature_names_out().tolist()
    np.testing.assert_allclose(augmented.to_numpy(), PLDATransformer().fit_transform(X, Y))


# --- with a classifier behind it ----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_in_a_pipeline_before_any_classifier(classifier):
    X, Y, y = ambiguous(n=90)
    sets = [set(np.flatnonzero(row)) for row in Y[:60]]
    pipeline = make_pipeline(StandardScaler(), PLDATransformer(), classifier()).fit(X[:60], sets)
    assert pipeline.score(X[60:], y[60:]) > 0.7
    assert pipeline[-1].n_features_in_ == 8
    scaler = StandardScaler().fit(X[:60])
    augmented = PLDATransformer().fit_transform(scaler.transform(X[:60]), sets)
    direct = classifier().fit(augmented, sets)
    np.testing.assert_allclose(
        pipeline[-1].label_distributions_, direct.label_distributions_, atol=1e-6
    )


def test_a_global_setting_of_data_frames_changes_nothing():
    import sklearn

    X, Y, _ = ambiguous(n=60)
    expected = PLDA().fit(X[:40], Y[:40]).predict_proba(X[40:])
    with sklearn.config_context(transform_output="pandas"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = PLDA().fit(X[:40], Y[:40]).predict_proba(X[40:])
    np.testing.assert_allclose(found, expected, atol=1e-9)
