"""What voting and stacking share: members by name, their parameters, seeds, weights of rows."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from problems import ambiguous
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ambilearn import IPAL, LALO, PLCL, PLCP, PLKNN, SURE, PLStacking, PLVoting
from ambilearn.selection import CandidateSearchCV

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every_ensemble = pytest.mark.parametrize("ensemble", [PLVoting, PLStacking])


@pytest.fixture
def data():
    return ambiguous(n=60, seed=1)


def assert_same_bits(a, b, X):
    np.testing.assert_array_equal(a.label_distributions_, b.label_distributions_)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


# --- parameters ---------------------------------------------------------------------------------


@every_ensemble
def test_members_and_their_parameters_are_parameters(ensemble):
    model = ensemble(estimators=[("mine", PLCL(alpha=0.7)), ("yours", SURE())])
    params = model.get_params()
    assert params["mine__alpha"] == 0.7
    assert params["yours"] is model.estimators[1][1]
    assert "mine" not in model.get_params(deep=False)
    model.set_params(mine__alpha=2.0, yours="drop")
    assert model.estimators[0][1].alpha == 2.0
    assert model.estimators[1] == ("yours", "drop")
    copy = clone(model)
    assert copy.get_params()["mine__alpha"] == 2.0
    assert copy.estimators[0][1] is not model.estimators[0][1]


@every_ensemble
def test_members_of_the_default_can_be_named(ensemble):
    model = ensemble()
    assert all(value is None or not hasattr(value, "fit") for value in model.get_params().values())
    model.set_params(plcl__alpha=2.0)
    assert dict(model.estimators)["plcl"].alpha == 2.0
    assert ensemble().estimators is None  # the default has not changed
    assert dict(ensemble().set_params(sure="drop").estimators)["sure"] == "drop"
    with pytest.raises(ValueError, match="Invalid parameter 'plcd'"):
        ensemble().set_params(plcd__alpha=2.0)


@every_ensemble
def test_the_default_equals_the_documented_stack(ensemble, data):
    X, mask, _ = data
    default = ensemble().fit(X, mask)
    members = {
        PLVoting: [("plcl", PLCL()), ("sure", SURE()), ("ipal", IPAL())],
        PLStacking: [("plcl", PLCL()), ("sure", SURE())],
    }[ensemble]
    explicit = ensemble(estimators=members)
    if ensemble is PLStacking:
        final = PLVoting(estimators=[("plcl", PLCL()), ("ipal", IPAL())])
        explicit.set_params(final_estimator=final)
    assert_same_bits(default, explicit.fit(X, mask), X)


# --- members ------------------------------------------------------------------------------------


@every_ensemble
def test_the_order_of_members_does_not_change_the_result(ensemble, data):
    X, mask, _ = data
    members = [("a", PLCL()), ("b", IPAL()), ("c", LALO()), ("d", GaussianNB())]
    first = ensemble(estimators=members).fit(X, mask)
    second = ensemble(estimators=[members[i] for i in (2, 3, 0, 1)]).fit(X, mask)
    assert first.member_names_ == second.member_names_ == ["a", "b", "c", "d"]
    assert_same_bits(first, second, X)


@every_ensemble
def test_a_dropped_member_is_not_fitted(ensemble, data):
    X, mask, _ = data
    members = [("a", PLCL()), ("b", SURE())]
    dropped = ensemble(estimators=[*members, ("c", "drop")]).fit(X, mask)
    assert dropped.member_names_ == ["a", "b"]
    assert list(dropped.named_estimators_) == ["a", "b"]
    assert dropped.named_estimators_["b"] is dropped.estimators_[1]
    assert_same_bits(dropped, ensemble(estimators=members).fit(X, mask), X)


@every_ensemble
@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ([PLCL()], r"list of pairs, \('name', estimator\); item 0 is PLCL\(\)"),
        ([("a", PLCL(), 1)], "item 0 is"),
        ([(1, PLCL())], "item 0 is"),
        ([("a", PLCL()), ("a", SURE())], "not unique"),
        ([("a__b", PLCL())], "must not contain __"),
        ([("n_jobs", PLCL())], "conflict with constructor arguments"),
        ([("a", PLCL)], "'a' is not a classifier but .*pass an estimator"),
        ([("a", "dropped")], "'a' is not a classifier but 'dropped'.*or 'drop'"),
        ([("a", Ridge())], "'a' is not a classifier"),
        ([("a", LinearSVC())], r"'a' \(LinearSVC\) has no predict_proba.*CalibratedClassifierCV"),
        (
            [("a", CandidateSearchCV(PLCL(), {}, refit=False))],
            "'a' is a search with refit=False.*refit=True",
        ),
        (
            [("a", PLCL(kernel="precomputed")), ("b", SURE())],
            "Some members take a kernel matrix.*or none",
        ),
    ],
)
def test_invalid_members_raise(ensemble, estimators, message, data):
    X, mask, _ = data
    with pytest.raises(ValueError, match=message):
        ensemble(estimators=estimators).fit(X, mask)


@pytest.mark.parametrize("alpha", [0, "half"])
def test_a_failing_member_of_a_member_is_named_by_its_place(alpha, data):
    X, mask, _ = data
    inner = PLVoting(estimators=[("bad", PLCL(alpha=alpha))])
    with pytest.raises(ValueError, match=r"'inner' could not .*'bad' could not .* 'alpha' param"):
        PLVoting(estimators=[("inner", inner), ("good", SURE())]).fit(X, mask)


@every_ensemble
@pytest.mark.parametrize(
    "member",
    [
        make_pipeline(StandardScaler(), PLCL()),
        CandidateSearchCV(SURE(), {"lam": [0.1, 0.3]}, cv=2, random_state=0),
        LogisticRegression(),
        PLVoting(estimators=[("x", PLKNN()), ("y", SURE())]),
        PLStacking(final_estimator=SURE()),
        PLCP(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_members_of_every_kind(ensemble, member, data):
    X, mask, y = data
    model = ensemble(estimators=[("a", PLCL()), ("b", member)]).fit(X, mask)
    assert type(model.named_estimators_.b) is type(member)
    assert np.mean(model.transduction_ == y) > 0.8
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


# --- seeds and landmarks ------------------------------------------------------------------------


@every_ensemble
def test_landmarks_and_seed_are_passed_to_members_without_their_own(ensemble, data):
    X, mask, _ = data
    members = [("a", PLCL()), ("b", SURE(n_landmarks=7, random_state=5)), ("c", IPAL())]
    model = ensemble(estimators=members, n_landmarks=15, random_state=3).fit(X, mask)
    fitted = model.named_estimators_
    assert (fitted.a.n_landmarks, fitted.a.random_state) == (15, 3)
    assert fitted.a.X_fit_.shape == (15, 4)
    assert (fitted.b.n_landmarks, fitted.b.random_state) == (7, 5)
    assert members[0][1].n_landmarks is None  # what the user gave has not changed
    if ensemble is PLStacking:
        top = model.final_estimator_.named_estimators_.plcl
        assert (top.n_landmarks, top.random_state) == (15, 3)


@every_ensemble
def test_the_same_seed_gives_the_same_bits(ensemble, data):
    X, mask, _ = data
    first, second, other = (
        ensemble(n_landmarks=10, random_state=seed).fit(X, mask) for seed in (0, 0, 1)
    )
    assert_same_bits(first, second, X)
    assert np.abs(other.predict_proba(X) - first.predict_proba(X)).max() > 1e-6
    first, second = (
        ensemble(n_landmarks=10, random_state=np.random.RandomState(4)).fit(X, mask)
        for _ in range(2)
    )
    assert_same_bits(first, second, X)


# --- weights of rows and of candidates ----------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (PLStacking(), "final_estimator__ipal='drop'"),
        (PLStacking(final_estimator=IPAL()), "final_estimator=PLCL()"),
        (PLStacking(final_estimator=PLStacking()), "final_estimator__final_estimator__ipal='drop'"),
        (PLVoting(estimators=[("a", PLVoting()), ("b", SURE())]), "a__ipal='drop'"),
    ],
)
def test_the_error_names_the_member_without_weights_and_its_replacement(model, name, data):
    X, mask, _ = data
    weights = np.linspace(1, 2, len(X))
    with pytest.raises(ValueError, match=r"\(IPAL\) does not support sample_weight") as caught:
        model.fit(X, mask, sample_weight=weights)
    assert f"set_params({name})" in str(caught.value)
    advised = eval(f"dict({name})", {"PLCL": PLCL})
    clone(model).set_params(**advised).fit(X, mask, sample_weight=weights)


def test_only_weights_of_rows_are_passed_on(data):
    X, mask, _ = data
    with pytest.raises(TypeError, match="has no argument 'weight': only sample_weight"):
        PLVoting().fit(X, mask, weight=np.ones(len(X)))


def test_weights_of_rows_can_be_routed(data):
    X, mask, _ = data
    weights = np.linspace(0.5, 3, len(X))
    with config_context(enable_metadata_routing=True):
        vote = PLVoting(estimators=[("a", SURE())])
        if not hasattr(vote, "set_fit_request"):
            pytest.skip("this release of scikit-learn routes no keywords of **fit_params")
        vote.set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, vote).fit(X, mask, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(
        pipeline[-1].estimators_[0].dual_coef_, SURE().fit(scaled, mask, weights).dual_coef_
    )


# --- forms of input -----------------------------------------------------------------------------


@every_ensemble
def test_a_member_without_sparse_support_is_reported(ensemble, data):
    X, mask, _ = data
    model = ensemble(estimators=[("a", PLCL()), ("b", GaussianNB())])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model.fit(sparse.csr_array(X), mask)


def test_a_kernel_matrix_as_rows(data):
    X, mask, _ = data
    K, K_new = X[:50] @ X[:50].T, X[50:] @ X[:50].T
    members = [("a", PLCL(kernel="precomputed")), ("b", SURE(kernel="precomputed"))]
    linear = [("a", PLCL(kernel="linear")), ("b", SURE(kernel="linear"))]
    for model, plain in (
        (PLVoting(estimators=members), PLVoting(estimators=linear)),
        (
            PLStacking(estimators=members, passthrough=False),
            PLStacking(estimators=linear, passthrough=False),
        ),
    ):
        model.fit(K, mask[:50])
        plain.fit(X[:50], mask[:50])
        assert model.__sklearn_tags__().input_tags.pairwise
        np.testing.assert_allclose(
            model.predict_proba(K_new), plain.predict_proba(X[50:]), atol=1e-3
        )
    with pytest.raises(ValueError, match="to which no outputs can be appended: pass passthrough"):
        PLStacking(estimators=members).fit(K, mask[:50])
    with pytest.raises(ValueError, match="which are not a kernel matrix"):
        PLStacking(final_estimator=PLCL(kernel="precomputed")).fit(X, mask)


@every_ensemble
@pytest.mark.heavy
def test_processes_give_the_same(ensemble, data):
    X, mask, _ = data
    alone, together = (ensemble(n_jobs=n_jobs).fit(X, mask) for n_jobs in (None, 2))
    np.testing.assert_allclose(together.predict_proba(X), alone.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(together.transduction_, alone.transduction_)


@every_ensemble
def test_verbose_prints_a_line_per_member(ensemble, data, capsys):
    X, mask, _ = data
    ensemble(verbose=1).fit(X, mask)
    names = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    expected = {
        PLVoting: ["ipal", "sure", "plcl"],
        PLStacking: ["sure", "plcl", "ipal", "plcl", "final_estimator"],
    }
    assert names == expected[ensemble]


# --- foreign members alone ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        PLVoting([("a", GaussianNB()), ("b", LogisticRegression())]),
        PLVoting([("a", GaussianNB()), ("b", SURE())], weights=(1, 0)),
        PLStacking([("a", GaussianNB())], final_estimator=SURE()),
        PLStacking([("a", GaussianNB())], final_estimator=SURE(), cv=3),
        PLStacking([], final_estimator=GaussianNB()),
    ],
)
def test_foreign_members_alone_cause_one_warning(model, data):
    X, mask, y = data
    with pytest.warns(UserWarning, match=r"\((a|a, b|final_estimator)\).*Add a method") as caught:
        model.fit(X, mask)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)  # nothing is ambiguous
        model.fit(X, [{j: 1.0 + (j == k) for j in range(3)} for k in y])  # the weights tell


PIPELINES = [
    ("foreign", make_pipeline(StandardScaler(), GaussianNB())),
    ("search", CandidateSearchCV(make_pipeline(SURE()), {"sure__reg": [0.1]}, cv=2)),
    ("sure", make_pipeline(StandardScaler(), SURE())),
    ("vote", PLVoting(estimators=[("knn", PLKNN())])),
]


@every_ensemble
def test_weights_of_rows_are_passed_to_pipelines_searches_and_votes(ensemble, data):
    X, mask, _ = data
    options = {} if ensemble is PLVoting else {"final_estimator": PLKNN()}
    model, weights = ensemble(estimators=PIPELINES, **options), np.linspace(0.1, 3, len(X))
    weighted = clone(model).fit(X, mask, sample_weight=weights).named_estimators_
    plain = clone(model).fit(X, mask).named_estimators_
    for name, _ in PIPELINES:
        assert np.abs(weighted[name].predict_proba(X) - plain[name].predict_proba(X)).max() > 1e-6
    alone = SURE().fit(StandardScaler().fit_transform(X), mask, weights)
    np.testing.assert_array_equal(weighted.sure[-1].dual_coef_, alone.dual_coef_)


# --- data frames --------------------------------------------------------------------------------


assert_close = partial(np.testing.assert_allclose, rtol=0, atol=1e-10)


@pytest.fixture
def mixed(data):
    X, mask, y = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(kind=np.where(X[:, 0] > 0, "warm", "cold")), mask, y


def by_names():
    return make_column_transformer(
        (OneHotEncoder(), ["kind"]), (StandardScaler(), ["a", "b", "c", "d"]), sparse_threshold=0
    )


def piped(*methods):
    return [(type(m).__name__.lower(), make_pipeline(by_names(), m)) for m in methods]


def test_members_may_choose_columns_of_a_data_frame_by_name(mixed):
    frame, mask, _ = mixed
    found = PLVoting(estimators=piped(SURE(), PLKNN(), GaussianNB())).fit(frame, mask)
    methods = [("gaussiannb", GaussianNB()), ("plknn", PLKNN()), ("sure", SURE())]
    rows = by_names().fit_transform(frame)
    expected = PLVoting(estimators=methods).fit(rows, mask)
    assert_close(found.label_distributions_, expected.label_distributions_)
    assert_close(found.predict_proba(frame), expected.predict_proba(rows))
    np.testing.assert_array_equal(found.predict(frame), expected.predict(rows))
    assert found.feature_names_in_.tolist() == [*"abcd", "kind"]
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(frame[["a", "b", "c", "kind", "d"]])


@pytest.mark.parametrize("cv", [None, 3])
def test_a_stack_of_members_with_columns_by_name(mixed, cv):
    frame, mask, _ = mixed
    options = {"final_estimator": SURE(), "cv": cv, "passthrough": False, "random_state": 0}
    stack = PLStacking(estimators=piped(SURE(), PLKNN()), **options).fit(frame, mask)
    if cv is None:
        rows = by_names().fit_transform(frame)
        methods = [("sure", SURE()), ("plknn", PLKNN())]
        plain = PLStacking(estimators=methods, **options).fit(rows, mask)
        assert_close(stack.predict_proba(frame), plain.predict_proba(rows))
    assert stack.score(frame, mask) > 0.8
    stack.set_params(passthrough=True)
    with pytest.raises(ValueError, match=r"needs numbers: .*passthrough=False"):
        stack.fit(frame, mask)
    stack.fit(frame.assign(kind=0), mask)
    assert stack.final_estimator_.n_features_in_ == 5 + 2 * 4


def test_members_in_an_inner_ensemble_and_in_a_search_receive_the_frame(mixed):
    frame, mask, _ = mixed
    inner = PLVoting(estimators=piped(SURE()))
    vote = PLVoting(estimators=[("inner", inner), *piped(PLKNN())])
    search = CandidateSearchCV(vote, {"restore_mass": [0.0, 0.5]}, cv=2, random_state=0)
    assert search.fit(frame, mask).score(frame, mask) > 0.8


@every_ensemble
def test_a_data_frame_of_numbers_is_the_same_as_its_array(data, ensemble):
    X, mask, _ = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    members = [("a", SURE()), ("b", make_pipeline(StandardScaler(), PLKNN())), ("c", PLKNN())]
    found, expected = (ensemble(estimators=members).fit(rows, mask) for rows in (frame, X))
    assert_close(found.predict_proba(frame), expected.predict_proba(X))


def test_a_search_over_another_classifier_gets_every_row_once():
    """Repeated rows would be in the training rows and in the held-out rows of a fold."""
    X, Y, _ = ambiguous(n=60, d=4, n_labels=3, seed=0)
    seen = []

    class Tree(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(X), sample_weight))
            return super().fit(X, y, sample_weight)

    search = GridSearchCV(Tree(random_state=0), {"max_depth": [2, 5]}, cv=2)
    PLVoting([("plknn", PLKNN()), ("tree", search)]).fit(X, Y)
    assert [n for n, _ in seen] == [30] * 4 + [60]
    seen.clear()
    PLVoting([("plknn", PLKNN()), ("tree", search)]).fit(X, Y, sample_weight=np.arange(1.0, 61.0))
    assert len(seen[-1][1]) == 60


def test_a_stack_is_the_same_for_a_sparse_mask():
    X, Y, _ = ambiguous(n=60, d=4, n_labels=3, seed=0)
    stack = PLStacking([("plknn", PLKNN(n_neighbors=3))], final_estimator=PLKNN())
    dense, thin = (clone(stack).fit(X, y) for y in (Y, sparse.csr_array(Y)))
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(X), atol=1e-12)


def test_large_weights_of_members(data):
    X, mask, _ = data
    vote = PLVoting([("a", PLKNN()), ("b", PLKNN(n_neighbors=3))], weights=[1e308, 1e308])
    np.testing.assert_allclose(vote.fit(X, mask).predict_proba(X).sum(axis=1), 1)
