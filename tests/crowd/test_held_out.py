import warnings

import numpy as np
import pytest
from annotators import item_names, make_crowd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import PLCL, PLKNN, SURE, PLVoting, as_candidates
from ambilearn._utils.rounds import listen_to_rounds
from ambilearn.backend import HOST
from ambilearn.crowd import CrowdClassifier, Votes
from ambilearn.crowd.held_out import HeldOutByFolds, HeldOutByRidge, fit_candidates


@pytest.fixture(scope="module")
def crowd():
    X, truth, answers = make_crowd(n=60, lots=2, answered=0.5)
    return X, truth, Votes.from_long(answers, items=item_names(60))


class CountingPLCL(PLCL):
    """PL-CL that counts its fits."""

    n_fits = 0

    def _fit(self, rows, candidates):
        type(self).n_fits += 1
        super()._fit(rows, candidates)


@pytest.mark.parametrize("weighted", [False, True])
def test_confidences_are_those_of_regressions_that_leave_out_each_row_in_turn(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    table = rng.integers(1, 4, (30, 3)) * (rng.random((30, 3)) < 0.6)
    table[np.arange(30), rng.integers(3, size=30)] = 2
    sets = as_candidates(table.astype(float) if weighted else (table > 0).astype(int))
    method = SURE(reg=0.5, kernel="linear")
    found = HeldOutByRidge(method, X, as_candidates(np.ones((30, 3), dtype=int)))(sets)

    def leave_out(targets):
        rows = np.arange(len(X))
        fits = [Ridge(alpha=0.5).fit(X[rows != i], targets[rows != i]) for i in rows]
        return np.array([fit.predict(X[[i]])[0] for i, fit in enumerate(fits)])

    pairs = HOST.support(sets)
    targets = pairs.prior()
    for _ in range(4):
        outputs = leave_out(pairs.scatter(targets))
        targets = pairs.simplex.project(pairs.gather(outputs) + pairs.preference())
    np.testing.assert_allclose(found, method._confidences(outputs), atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_kernel_method_is_fitted_once_and_in_halves_for_its_temperature(crowd):
    X, truth, votes = crowd
    CountingPLCL.n_fits = 0
    model = CrowdClassifier(CountingPLCL(), random_state=0).fit(X, votes)
    assert CountingPLCL.n_fits == 2 + 1
    assert model.n_iter_ > 1
    assert (model.transduction_ == truth).mean() > 0.8
    CrowdClassifier(CountingPLCL(), cv=3, max_iter=1, tol=10.0, random_state=0).fit(X, votes)
    assert CountingPLCL.n_fits == 3 + 3 + 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_ensemble_starts_from_its_member_and_takes_two_rounds_of_halves(crowd):
    X, truth, votes = crowd
    CountingPLCL.n_fits = 0
    model = CrowdClassifier(
        PLVoting([("a", CountingPLCL(max_iter=2)), ("b", SURE(max_iter=2))])
    ).fit(X, votes)
    assert CountingPLCL.n_fits <= 2 * 2 + 1
    assert (model.transduction_ == truth).mean() > 0.8


def test_folds_and_the_closed_form_agree_on_most_rows(crowd):
    X, _, votes = crowd
    closed = CrowdClassifier(PLCL(), tol=0.2).fit(X, votes)
    folds = CrowdClassifier(PLCL(), tol=0.2, cv=5, random_state=0).fit(X, votes)
    assert (closed.transduction_ == folds.transduction_).mean() > 0.9


def test_a_pipeline_and_a_kernel_matrix_have_the_closed_form_too(crowd):
    X, _, votes = crowd
    scaled = StandardScaler().fit_transform(X)
    expected = CrowdClassifier(PLCL(kernel="linear")).fit(scaled, votes).label_distributions_
    steps = make_pipeline(StandardScaler(), PLCL(kernel="linear"))
    found = CrowdClassifier(steps).fit(X, votes).label_distributions_
    np.testing.assert_allclose(found, expected)
    kernel = CrowdClassifier(PLCL(kernel="precomputed")).fit(scaled @ scaled.T, votes)
    np.testing.assert_allclose(kernel.label_distributions_, expected, atol=1e-6)


def test_folds_stay_the_same_in_every_round(crowd):
    X, _, _ = crowd
    by_folds = HeldOutByFolds(PLCL(), X, 3, np.random.RandomState(0))
    sets = as_candidates(np.random.default_rng(0).integers(3, size=60))
    np.testing.assert_array_equal(by_folds(sets), by_folds(sets))


def test_two_items_are_needed(crowd):
    X, _, _ = crowd
    with pytest.raises(ValueError, match="judged by the other rows, but the votes have 1 items"):
        CrowdClassifier(PLCL()).fit(X[:1], Votes.from_wide([["a", "b"]]))
    for n in (2, 3):  # two are too few for folds
        model = CrowdClassifier(PLCL(), random_state=0).fit(
            X[:n], [["a", "a"], *[["b", "b"]] * (n - 1)]
        )
        assert model.transduction_.tolist() == ["a", "b", "b"][:n]


def test_weights_reach_a_classifier_whose_fit_takes_any_parameter(crowd):
    X, _, votes = crowd
    members = [("a", LogisticRegression()), ("b", GaussianNB())]
    model = make_pipeline(StandardScaler(), VotingClassifier(members, voting="soft"))
    fitted = CrowdClassifier(model, max_iter=1, cv=2, tol=10.0, random_state=0).fit(X, votes)
    assert fitted.predict_proba(X).shape == (len(X), len(fitted.classes_))


def test_progress_does_not_pass_its_limit(crowd):
    X, _, votes = crowd
    rounds = []
    vote = PLVoting(estimators=[("plcl", PLCL(max_iter=2, tol=0)), ("knn", PLKNN())])
    with listen_to_rounds(rounds.append), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CrowdClassifier(vote, max_iter=2, random_state=0).fit(X, votes)
    mine = [each for each in rounds if each.name == "CrowdClassifier"]
    assert len(mine) > 2
    assert all(each.number <= each.limit for each in mine)


def test_the_folds_of_a_kernel_matrix_are_rows_and_columns(crowd):
    X, _, _ = crowd
    sets = as_candidates(np.random.default_rng(0).integers(3, size=60))
    expected = HeldOutByFolds(PLCL(kernel="linear"), X, 3, 0)(sets)
    found = HeldOutByFolds(PLCL(kernel="precomputed"), X @ X.T, 3, 0)(sets)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "classifier",
    [
        CalibratedClassifierCV(LogisticRegression(), cv=3),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LogisticRegression(), cv=3)),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 10.0]}, cv=3),
    ],
    ids=["calibration", "pipeline", "search"],
)
def test_a_classifier_with_folds_of_its_own_gets_every_row_once(classifier):
    """A repeated row would be in the training rows and in the held-out rows of a fold."""
    X = np.random.default_rng(0).normal(size=(12, 1))
    sets = as_candidates([{"a": 0.8, "b": 0.2}] * 6 + [{"a": 0.1, "b": 0.9}] * 6)
    found = fit_candidates(classifier, X, sets)
    expected = classifier.fit(X, ["a"] * 6 + ["b"] * 6)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
