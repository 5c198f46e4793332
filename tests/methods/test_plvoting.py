"""Voting: means of confidences, and the mass of labels."""

import numpy as np
import pytest
from problems import ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from ambilearn import IPAL, PLCL, PLKNN, SURE, PLVoting, as_candidates
from ambilearn.metrics import covering_rate_scorer
from ambilearn.selection import CandidateSearchCV, fit_points

MEMBERS = [("plcl", PLCL()), ("ipal", IPAL())]
SUBSETS = [None, (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


@pytest.fixture
def data():
    return ambiguous(n=60, seed=1)


@pytest.mark.parametrize("weights", [None, (3, 1), {"ipal": 1, "plcl": 3}, np.array([0.3, 0.1])])
def test_confidences_are_the_weighted_mean(weights, data):
    X, mask, _ = data
    model = PLVoting(estimators=MEMBERS, weights=weights).fit(X[:40], mask[:40])
    plcl, ipal = (method.fit(X[:40], mask[:40]) for method in (PLCL(), IPAL()))
    share = 0.5 if weights is None else 0.75
    expected = share * plcl.predict_proba(X) + (1 - share) * ipal.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)
    assert dict(zip(model.member_names_, model.weights_, strict=True)) == pytest.approx(
        {"plcl": share, "ipal": 1 - share}
    )


@pytest.mark.parametrize("restore_mass", [0, 0.5, 1])
def test_confidences_in_the_candidates_of_training_rows(restore_mass, data):
    X, mask, _ = data
    model = PLVoting(estimators=MEMBERS, weights=(3, 1), restore_mass=restore_mass).fit(X, mask)
    P, F = (method.fit(X, mask).label_distributions_ for method in (PLCL(), IPAL()))
    expected = 0.75 * P + 0.25 * F
    prior = mask / mask.sum(axis=1, keepdims=True)
    expected = expected * (prior.sum(axis=0) / expected.sum(axis=0)) ** restore_mass
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-12)


@pytest.mark.parametrize(
    "member",
    [PLCL(), IPAL(), PLKNN(), PLVoting(estimators=MEMBERS)],
    ids=lambda m: type(m).__name__,
)
def test_a_vote_of_one_member_equals_the_member(member, data):
    X, mask, _ = data
    for model in (
        PLVoting(estimators=[("only", member)]),
        PLVoting(estimators=[("a", "drop"), ("only", member)]),
        PLVoting(estimators=[("a", SURE()), ("only", member)], weights=(0, 2)),
    ):
        model.fit(X[:40], mask[:40])
        alone = member.fit(X[:40], mask[:40])
        for name in ("predict", "predict_proba", "decision_function"):
            np.testing.assert_array_equal(getattr(model, name)(X), getattr(alone, name)(X))
        np.testing.assert_array_equal(model.label_distributions_, alone.label_distributions_)
        np.testing.assert_array_equal(model.transduction_, alone.transduction_)
        assert model.member_names_ == ["only"]


def test_a_vote_of_one_foreign_member(data):
    X, mask, _ = data
    with pytest.warns(UserWarning, match=r"No member \(nb\) learns from candidate sets"):
        model = PLVoting([("nb", GaussianNB())]).fit(X, mask)
    proba = model.estimators_[0].predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), proba)
    expected = mask * proba
    np.testing.assert_allclose(
        model.label_distributions_, expected / expected.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_a_member_of_weight_zero_is_not_fitted(data):
    X, mask, _ = data
    broken = PLCL(mu=-1)
    model = PLVoting(estimators=[("bad", broken), ("good", SURE())], weights=(0, 1)).fit(X, mask)
    assert model.member_names_ == ["good"]
    assert not hasattr(broken, "classes_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": (1, 2, 3)}, r"weights has 3 entries but there are 2 members \(plcl, ipal\)"),
        ({"weights": (1, -1)}, "weight of 'ipal' is -1: weights must be finite numbers and not"),
        ({"weights": (np.nan, 1)}, "weight of 'plcl' is nan"),
        ({"weights": ("x", 1)}, "weight of 'plcl' is 'x': weights must be finite numbers"),
        ({"weights": {"plcl": 1}}, r"weights names \['plcl'\], but the members are \['ipal', 'p"),
        ({"weights": (0, 0)}, "no members"),
        ({"estimators": []}, "no members: estimators is empty"),
        ({"estimators": [("a", "drop")]}, "all members are dropped"),
    ],
)
def test_mistakes(parameters, message, data):
    X, mask, _ = data
    with pytest.raises(ValueError, match=message):
        PLVoting(**{"estimators": MEMBERS} | parameters).fit(X, mask)


def test_more_than_a_thousand_labels_need_no_dense_matrix(data):
    X, few, _ = data
    mask = np.zeros((len(X), 1200), dtype=bool)
    mask[:, [7, 300, 301, 1100]] = few
    members = [("plcl", PLCL(max_iter=3, tol=0)), ("sure", SURE()), ("ipal", IPAL())]
    vote = PLVoting(estimators=members, n_landmarks=20, random_state=0)
    dense, scattered = (clone(vote).fit(X, y) for y in (mask, sparse.csr_array(mask)))
    assert sparse.issparse(scattered.label_distributions_)
    np.testing.assert_allclose(
        scattered.label_distributions_.toarray(), dense.label_distributions_, atol=1e-8
    )
    np.testing.assert_array_equal(scattered.predict(X), dense.predict(X))


# --- choice without true labels -----------------------------------------------------------------


GOOD, BAD = PLCL(), PLKNN(n_neighbors=60)  # of the latter's neighbors most are of other classes


@pytest.fixture
def halves():
    X, mask, y = ambiguous(n=200, n_labels=5, seed=3)
    return X[:100], mask[:100], X[100:], y[100:]


def test_members_are_values_of_a_grid(halves):
    X, mask, X_new, y_new = halves
    vote = PLVoting(estimators=[("one", BAD), ("two", "drop")])
    grid = {"one": [BAD, GOOD], "two": ["drop", SURE(), IPAL()]}
    search = CandidateSearchCV(vote, grid, cv=3, random_state=0).fit(X, mask)
    assert len(search.cv_results_["params"]) == 6
    assert isinstance(search.best_params_["one"], PLCL)
    assert search.best_estimator_.named_estimators_.one.n_iter_ > 0
    assert search.score(X_new, y_new) > BAD.fit(X, mask).score(X_new, y_new) + 0.1


def test_a_search_over_weights_factorizes_once(data, count_work):
    X, mask, _ = data
    found = list(fit_points(PLVoting(), [{"weights": each} for each in SUBSETS], X, mask))
    assert (count_work["kernel"], count_work["factorization"]) == (1, 3)
    for model, weights in zip(found, SUBSETS, strict=True):
        alone = PLVoting(weights=weights).fit(X, mask)
        np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


# --- real data ----------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_covering_rate_removes_inaccurate_members_on_fg_net(real_split):
    """There IPAL and SURE are worse than PL-CL, and a mean of all three is worse as well."""
    equal, chosen, weights = [], [], []
    for seed in range(2):
        X, mask, _, X_test, y_test = real_split("FG-NET", seed)
        sets = as_candidates(mask)
        grid = {"weights": SUBSETS}
        search = CandidateSearchCV(PLVoting(), grid, scoring=covering_rate_scorer, random_state=0)
        search.fit(X, sets)
        weights.append(search.best_params_["weights"] or (1, 1, 1))
        models = PLVoting().fit(X, sets), search
        for model, found in zip(models, (equal, chosen), strict=True):
            found.append(np.mean(np.abs(model.predict(X_test) - y_test) <= 3))
    assert all(plcl > 0 for plcl, _, _ in weights)
    assert np.mean(chosen) > np.mean(equal)
