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
from sklearn.model_selection import GridSearchCV
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


def test_a_label_without_confidence_has_the_zero_prototype():
    X, Y, _ = ambiguous()
    transformer = PLDATransformer().fit(X, np.insert(Y, 2, 0, axis=1))
    assert (transformer.prototypes_[2] == 0).all()
    assert (np.abs(transformer.prototypes_[[0, 1, 3, 4]]).sum(axis=1) > 0).all()


# --- the transformer ----------------------------------------------------------------------------


def test_training_rows_keep_their_own_confidences():
    """``fit_transform`` and ``fit`` then ``transform`` differ, as the method has it."""
    X, Y, _ = ambiguous(n=50, extra=0.5)
    transformer = PLDATransformer()
    augmented = transformer.fit_transform(X, Y)
    F, C = transformer.label_distributions_, transformer.prototypes_
    np.testing.assert_array_equal(augmented[:, :4], X)
    np.testing.assert_allclose(augmented[:, 4:], F @ C)
    as_new = transformer.transform(X)
    np.testing.assert_array_equal(as_new[:, :4], X)
    assert np.abs(as_new - augmented).max() > 0.1


def test_hard_assignment_appends_prototypes_and_soft_assignment_their_means():
    X, Y, _ = ambiguous(n=60)
    transformer = PLDATransformer().fit(X[:40], Y[:40])
    hard = transformer.transform(X[40:])[:, 4:]
    distances = cdist(hard, transformer.prototypes_)
    assert (distances.min(axis=1) == 0).all()
    soft = transformer.set_params(assignment="soft").transform(X[40:])[:, 4:]
    assert cdist(soft, transformer.prototypes_).min() > 1e-3
    lower, upper = transformer.prototypes_.min(axis=0), transformer.prototypes_.max(axis=0)
    assert ((soft >= lower - 1e-9) & (soft <= upper + 1e-9)).all()


def test_a_row_is_augmented_independently_of_the_batch():
    """The width of the Gaussian is the training rows', not the batch's as in the authors' code."""
    X, Y, _ = ambiguous(n=60)
    for assignment in ("hard", "soft"):
        transformer = PLDATransformer(assignment=assignment).fit(X[:40], Y[:40])
        together = transformer.transform(X[40:])
        alone = np.concatenate([transformer.transform(row[None]) for row in X[40:]])
        np.testing.assert_allclose(alone, together, atol=1e-12)


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


def test_every_form_of_candidates():
    X, Y, _ = ambiguous()
    names = np.array(["ant", "bee", "cow", "dog"])
    expected = PLDATransformer().fit_transform(X, Y)
    for y in ([set(names[row.astype(bool)]) for row in Y], sparse.csc_array(Y), Y.astype(bool)):
        np.testing.assert_allclose(PLDATransformer().fit_transform(X, y), expected, atol=1e-9)
    with pytest.raises(ValueError, match="X has 40 rows but y has 3"):
        PLDATransformer().fit(X, Y[:3])


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("lam", -1),
        ("n_neighbors", 0),
        ("assignment", "firm"),
        ("max_iter", 0),
        ("tol", -1),
        ("neighbors", None),
    ],
)
def test_errors_name_the_parameter(parameter, value):
    X, Y, _ = ambiguous(n=20)
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of PLDATransformer"):
        PLDATransformer(**{parameter: value}).fit(X, Y)


def test_warnings_in_a_pipeline_point_at_the_users_line():
    X, Y, _ = ambiguous(n=6)
    with pytest.warns(UserWarning, match="only 6 rows") as caught:
        make_pipeline(PLDATransformer(), PLKNN()).fit(X, Y)
    assert {w.filename for w in caught} == {__file__}


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


def test_the_pipeline_is_searched_and_cloned():
    X, Y, y = ambiguous(n=90)
    pipeline = make_pipeline(PLDATransformer(), PLKNN())
    grid = {"pldatransformer__lam": [0.01, 1.0], "plknn__n_neighbors": [5, 10]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_estimator_.score(X, y) > 0.7


def test_is_the_transformer_followed_by_pl_knn():
    X, Y, _ = ambiguous(n=60)
    model = PLDA(n_neighbors=3).fit(X[:40], Y[:40])
    assert (model.estimator_.n_features_in_, model.transformer_.n_features_in_) == (8, 4)
    pipeline = make_pipeline(PLDATransformer(n_neighbors=3), PLKNN(n_neighbors=3))
    np.testing.assert_array_equal(
        model.predict_proba(X[40:]), pipeline.fit(X[:40], Y[:40]).predict_proba(X[40:])
    )


def test_a_global_setting_of_data_frames_changes_nothing():
    import sklearn

    X, Y, _ = ambiguous(n=60)
    expected = PLDA().fit(X[:40], Y[:40]).predict_proba(X[40:])
    with sklearn.config_context(transform_output="pandas"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = PLDA().fit(X[:40], Y[:40]).predict_proba(X[40:])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_defaults_are_the_papers():
    defaults = PLDA().get_params()
    assert (defaults["lam"], defaults["n_neighbors"], defaults["max_iter"]) == (0.01, 10, 100)
    assert isinstance(PLDA().fit(*ambiguous()[:2]).estimator_, PLKNN)
