import warnings

import numpy as np
import pytest
from literal import knn, unit_rows
from literal_methods import pra, similarity_graph
from optimality import assert_on_candidate_simplices
from problems import ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLCP, PLKNN, PRA, SURE
from ambilearn.own_data.skops_format import dump_pipeline, load_pipeline
from ambilearn.registry import METHODS

BASES = [method.load()() for method in METHODS.values()]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def outputs_of(model, X):
    """What was appended to the rows X."""
    scores = model.first_estimator_._scores(X)
    return (scores - model.output_mean_) / model.output_scale_


# --- against the oracle -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_the_formulas(seed):
    X, Y, _ = ambiguous(n=60, d=12, n_labels=5, extra=0.5, seed=seed)
    A, B, new = X[:45], Y[:45], X[45:]
    base = PLAGGD(n_neighbors=4, max_iter=8, tol=0)
    model = PRA(estimator=base).fit(A, B)
    literal = pra(A, B, new, k=4, iterations=8)
    np.testing.assert_allclose(outputs_of(model, A), literal.Z, atol=1e-4)
    np.testing.assert_allclose(model.label_distributions_, literal.P, atol=1e-4)
    np.testing.assert_allclose(model.estimator_.graph_.toarray(), literal.G.T, atol=1e-2)
    np.testing.assert_allclose(model.decision_function(new), literal.scores, atol=1e-4)
    other = PRA(estimator=base, graph_on="all").fit(A, B)
    assert np.abs(other.label_distributions_ - literal.P).max() > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data_agrees_with_the_formulas(real_split, name):
    X, Y, _, X_test, _ = real_split(name)
    X, Y = X[:300], Y[:300]  # the literal version takes its time
    Y = Y[:, Y.any(axis=0)]
    model = PRA(estimator=PLAGGD(max_iter=2, tol=0)).fit(X, Y)
    literal = pra(X, Y, X_test, iterations=2)
    np.testing.assert_allclose(model.label_distributions_, literal.P, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X_test), literal.scores, atol=1e-3)


# --- the two fits -------------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_any_method_is_fitted_to_features_and_outputs(base):
    X, Y, y = ambiguous(n=90, d=6, n_labels=6)
    A, B, new = X[:60], Y[:60], X[60:]
    model = PRA(estimator=base, graph_on="all").fit(A, B)
    first = clone(base).fit(A, B)
    scores = first._scores(A)
    mean, deviation = scores.mean(axis=0), scores.std(axis=0)
    rows, new_rows = (np.hstack([R, (first._scores(R) - mean) / deviation]) for R in (A, new))
    second = clone(base).fit(rows, B)
    np.testing.assert_allclose(model.label_distributions_, second.label_distributions_, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(new), second.predict_proba(new_rows), atol=1e-9)
    assert not hasattr(base, "classes_")  # it is left as it was
    assert (model.first_estimator_.n_features_in_, model.estimator_.n_features_in_) == (6, 12)
    assert_on_candidate_simplices(model.label_distributions_.round(15), B)
    assert model.score(new, y[60:]) > 0.5


@pytest.mark.parametrize("base", [PLAGGD(n_neighbors=3), PLCL(n_neighbors=3)], ids=repr)
def test_neighbors_are_those_of_the_outputs(base):
    X, Y, _ = ambiguous(n=50, d=6)
    model = PRA(estimator=base).fit(X, Y)
    nearest = knn(unit_rows(outputs_of(model, X)), 3)
    graph = model.estimator_.graph_
    for i in range(50):
        assert set(graph[[i]].nonzero()[1]) <= set(nearest[i])
    apart = PRA(estimator=base, graph_on="all").fit(X, Y).estimator_.graph_
    assert (graph != apart).nnz > 0


def test_lalo_has_its_fixed_graph_of_the_outputs():
    X, Y, _ = ambiguous(n=50, d=6)
    model = PRA(estimator=LALO(n_neighbors=3)).fit(X, Y)
    expected, _ = similarity_graph(outputs_of(model, X), 3)
    np.testing.assert_allclose(model.estimator_.graph_.toarray(), expected, atol=1e-6)


def test_the_default_base_of_plcp_has_its_graph_of_the_outputs_too():
    X, Y, _ = ambiguous(n=50, d=6)
    model = PRA(estimator=PLCP(n_neighbors=3)).fit(X, Y)
    nearest = knn(unit_rows(outputs_of(model, X)), 3)
    graph = model.estimator_.estimator_.graph_
    for i in range(50):
        assert set(graph[[i]].nonzero()[1]) <= set(nearest[i])


@pytest.mark.parametrize("base", [SURE(), IPAL(), PLKNN()], ids=repr)
def test_without_a_graph_beside_the_classifier_there_is_nothing_to_choose(base):
    X, Y, _ = ambiguous(n=50)
    a, b = (PRA(estimator=base, graph_on=g).fit(X, Y) for g in ("outputs", "all"))
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_outputs_have_mean_zero_and_deviation_one():
    X, Y, _ = ambiguous(n=60)
    model = PRA().fit(X, Y)
    Z = outputs_of(model, X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z.std(axis=0), 1, atol=1e-9)
    # New rows by the statistics of the training rows, whatever their company.
    together, alone = model.decision_function(X[:5] + 0.1), model.decision_function(X[:1] + 0.1)
    np.testing.assert_allclose(together[:1], alone, atol=1e-9)


def test_outputs_that_do_not_vary_are_not_blown_up():
    X, Y, _ = ambiguous(n=60)
    wide = np.insert(Y, 2, 0, axis=1)  # a label without a candidate: its outputs are all zero
    for base in (None, SURE(), PLCL()):
        model = PRA(estimator=base).fit(X, wide)
        assert np.abs(outputs_of(model, X)).max() < 20
    same = PRA().fit(np.ones((60, 3)), Y)
    np.testing.assert_array_equal(same.output_scale_, 1)


def test_the_default_base_has_the_parameters():
    X, Y, _ = ambiguous(n=60)
    model = PRA(n_neighbors=4, n_landmarks=9, landmarks="uniform", random_state=0).fit(X, Y)
    for fitted in (model.first_estimator_, model.estimator_):
        assert isinstance(fitted, PLAGGD)
        assert (fitted.n_neighbors, fitted.n_landmarks, fitted.landmarks) == (4, 9, "uniform")
        assert len(fitted.X_fit_) == 9
    explicit = PLAGGD(n_neighbors=4, n_landmarks=9, landmarks="uniform", random_state=0)
    np.testing.assert_array_equal(
        PRA(estimator=explicit).fit(X, Y).decision_function(X), model.decision_function(X)
    )


# --- the contract -------------------------------------------------------------------------------


def test_a_kernel_matrix_has_no_features_to_append_to():
    X, Y, _ = ambiguous(n=20)
    with pytest.raises(ValueError, match=r"PRA appends outputs to features.*another kernel"):
        PRA(estimator=PLCL(kernel="precomputed")).fit(X @ X.T, Y)


def test_few_rows_are_warned_of_once():
    X, Y, _ = ambiguous(n=6)
    with pytest.warns(UserWarning, match="only 6 rows") as caught:
        PRA().fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PRA(n_neighbors=5).fit(X, Y)


@pytest.mark.parametrize("base", [None, IPAL(), SURE()], ids=repr)
def test_sparse_rows_and_sparse_masks(base):
    X, Y, _ = ambiguous(n=60)
    X[np.abs(X) < 0.5] = 0
    expected = PRA(estimator=base).fit(X, Y)
    rows = PRA(estimator=base).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(
        rows.decision_function(sparse.csc_array(X)), expected.decision_function(X), atol=1e-6
    )
    masked = PRA(estimator=base).fit(X, sparse.csr_array(Y))
    assert sparse.issparse(masked.label_distributions_)
    np.testing.assert_allclose(
        masked.label_distributions_.toarray(), expected.label_distributions_, atol=1e-8
    )


@pytest.mark.parametrize("base", [PLAGGD(), PLCL(), LALO()], ids=repr)
def test_the_graph_of_the_outputs_is_the_same_with_sparse_rows(base):
    X, Y, _ = ambiguous(n=60, extra=0.4)
    dense, thin = (PRA(estimator=base).fit(rows, Y) for rows in (X, sparse.csr_array(X)))
    assert sparse.issparse(thin.estimator_.X_fit_)
    assert abs(dense.estimator_.graph_ - thin.estimator_.graph_).max() < 1e-6


@pytest.mark.parametrize("base", [PLAGGD(), PLCL(), LALO()], ids=repr)
def test_two_labels_have_parallel_outputs(base):
    """Those of one are minus the other's, so that all rows of the graph coincide."""
    X, Y, y = ambiguous(n=60, n_labels=2, extra=0.4)
    for rows in (X, sparse.csr_array(X)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model = PRA(estimator=base).fit(rows, Y)
        assert np.mean(model.transduction_ == y) > 0.9


@pytest.mark.parametrize("base", [None, SURE(), PLKNN()], ids=repr)
def test_weights_of_rows_reach_both_fits(base):
    X, Y, _ = ambiguous(n=50, extra=0.5)
    v = np.random.default_rng(0).uniform(0.2, 3.0, 50)
    plain, ones, weighted = (
        PRA(estimator=base).fit(X, Y, sample_weight=each) for each in (None, np.ones(50), v)
    )
    np.testing.assert_array_equal(ones.decision_function(X), plain.decision_function(X))
    learner = PLAGGD() if base is None else base
    first = clone(learner).fit(X, Y, v)
    np.testing.assert_array_equal(weighted.first_estimator_._scores(X), first._scores(X))
    rows = np.hstack([X, outputs_of(weighted, X)])
    second = clone(learner)
    if base is None:
        second._graph_from = 4
    second.fit(rows, Y, v)
    np.testing.assert_allclose(weighted.decision_function(X), second.decision_function(rows))
    assert np.abs(weighted.decision_function(X) - plain.decision_function(X)).max() > 1e-3


def test_parameters_of_the_base_are_searched():
    X, Y, y = ambiguous(n=90)
    search = GridSearchCV(PRA(estimator=SURE()), {"estimator__lam": [0.1, 0.3]}, cv=3).fit(X, Y)
    assert search.best_estimator_.estimator_.lam in (0.1, 0.3)
    assert search.best_estimator_.score(X, y) > 0.7


@pytest.mark.parametrize("base", [None, PLKNN(n_neighbors=3)], ids=repr)
def test_model_files(base):
    X, Y, _ = ambiguous()
    fitted = make_pipeline(PRA(estimator=base)).fit(X, Y)
    back = load_pipeline(dump_pipeline(fitted))
    np.testing.assert_array_equal(back.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("base", [PLAGGD(), PLCL()], ids=repr)
def test_lost_gains_by_the_second_fit(real_split, base):
    gains = []
    for seed in range(3):
        X, Y, _, X_test, y_test = real_split("lost", seed)
        model = PRA(estimator=base).fit(X, Y)
        alone = model.first_estimator_.score(X_test, y_test)
        gains.append(model.score(X_test, y_test) - alone)
    assert np.mean(gains) > 0.015
