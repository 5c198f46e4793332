"""Scores without true labels against cases computed by hand, and in searches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold

from ambilearn import PLCL
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.metrics import (
    approximated_accuracy,
    approximated_accuracy_scorer,
    covering_rate,
    covering_rate_scorer,
)

SETS = [{"a", "b"}, {"c"}, {"b", "c"}, {"a"}]
MASK = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])
P = np.array([[0.6, 0.4, 0.0], [0.0, 0.0, 1.0], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])


def test_labels_of_the_same_kind_may_all_be_wrong():
    assert covering_rate([{"a"}, {"b"}], ["x", "y"]) == 0.0
    assert covering_rate(np.array(["a", "b"], dtype=object), np.array(["a", "x"])) == 0.5


def test_covering_rate():
    assert covering_rate(SETS, ["a", "b", "c", "a"]) == 0.75
    assert covering_rate(MASK, [0, 1, 2, 0]) == 0.75
    assert covering_rate(sparse.csr_array(MASK), [0, 1, 2, 0]) == 0.75
    assert covering_rate(SETS, ["b", "c", "b", "a"]) == 1.0
    assert covering_rate(SETS, ["zebra"] * 4) == 0.0


def test_approximated_accuracy_by_hand():
    proba = np.array(
        [
            [0.6, 0.2, 0.2],  # predicts a, in {a, b}: 0.6 / 0.8
            [0.5, 0.1, 0.4],  # predicts a, not in {c}: 0
            [0.0, 0.3, 0.7],  # predicts c, in {b, c}: 0.7 / 1.0
            [0.4, 0.3, 0.3],  # predicts a, the only candidate: 1
        ]
    )
    expected = (0.75 + 0 + 0.7 + 1) / 4
    assert approximated_accuracy(SETS, proba) == pytest.approx(expected)
    assert approximated_accuracy(MASK, proba) == pytest.approx(expected)
    assert approximated_accuracy(MASK, sparse.csr_array(proba)) == pytest.approx(expected)
    # Columns in another order, and one that no candidate set knows.
    shuffled = np.column_stack([proba[:, 2], np.zeros(4), proba[:, 0], proba[:, 1]])
    assert approximated_accuracy(SETS, shuffled, ["c", "x", "a", "b"]) == pytest.approx(expected)


def test_a_label_that_the_model_has_not_learned_has_no_weight():
    """{a, z}: all weight is on a, the prediction. {z}: nothing the model predicts is in it."""
    proba = [[0.9, 0.1], [0.9, 0.1]]
    assert approximated_accuracy([{"a", "z"}, {"z"}], proba, ["a", "b"]) == 0.5


def test_no_confidence_at_all_is_shared():
    assert approximated_accuracy([{0, 1}], [[0.0, 0.0]]) == 0.5
    assert approximated_accuracy([{0, 1}], [[0.0, 0.0, 1.0]], [0, 1, 2]) == 0.0


def test_certain_and_right_is_one():
    assert approximated_accuracy(MASK, np.eye(3)[[0, 2, 1, 0]]) == 1.0


@pytest.mark.parametrize(
    ("proba", "message"),
    [
        (-P, "negative or infinite entries"),
        (np.where(P > 0, np.inf, P), "negative or infinite entries"),
        (np.full((4, 3), np.nan), "NaN in row 0"),
        (P[:, :2], r"shape \(4, 3\)"),
        (P[0], "shape"),
    ],
)
def test_approximated_accuracy_rejects(proba, message):
    with pytest.raises(ValueError, match=message):
        approximated_accuracy(SETS, proba)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 30))
def test_the_order_of_the_label_free_scores(seed, n_labels, n):
    """Accuracy ≤ covering rate (the truth is a candidate), approximated accuracy ≤ covering rate;
    and the approximated accuracy equals its definition, written as a loop."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, n)
    mask = rng.random((n, n_labels)) < 0.4
    mask[np.arange(n), y] = True
    proba = rng.dirichlet(np.ones(n_labels), n)
    y_pred = proba.argmax(axis=1)
    rate = covering_rate(mask, y_pred)
    assert accuracy_score(y, y_pred) <= rate
    found = approximated_accuracy(mask, proba)
    assert found <= rate + 1e-12
    by_hand = 0.0
    for i in range(n):
        if mask[i, y_pred[i]]:
            by_hand += proba[i, y_pred[i]] / proba[i, mask[i]].sum()
    assert found == pytest.approx(by_hand / n)


@pytest.fixture(scope="module")
def digits():
    data = load_dataset("digits")
    rows = np.random.default_rng(0).permutation(len(data.X))[:400]
    sets, _ = make_candidates(data.y[rows], r=2, random_state=0)
    return data.X[rows], sets, data.y[rows]


@pytest.mark.parametrize("scorer", [covering_rate_scorer, approximated_accuracy_scorer])
@pytest.mark.parametrize("form", ["mask", "sparse", "sets"])
def test_scorers_in_a_grid_search_with_candidate_sets(digits, scorer, form):
    X, sets, y = digits
    candidates = {
        "mask": sets.to_mask(), "sparse": sets.to_sparse(), "sets": sets.to_sets()
    }[form]  # fmt: skip
    # A ridge this strong predicts almost nothing: any sensible score prefers the other.
    search = GridSearchCV(
        PLCL(max_iter=3, tol=0.5), {"reg": [0.03, 1e6]}, scoring=scorer, cv=KFold(3)
    )
    search.fit(X, candidates)
    assert search.best_params_ == {"reg": 0.03}
    assert 0.5 < search.best_score_ <= 1
    assert search.score(X, candidates) == scorer(search.best_estimator_, X, candidates)
    assert search.predict(X).shape == y.shape


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2]])
def test_scorers_of_an_ordinary_classifier(labels):
    """With one candidate a row they are accuracy, and accuracy weighted by nothing."""
    rng = np.random.default_rng(0)
    y = rng.choice(labels, 60)
    X = y[:, None] + rng.normal(size=(60, 1))
    model = LogisticRegression().fit(X, y)
    assert covering_rate_scorer(model, X, y) == model.score(X, y)
    assert approximated_accuracy_scorer(model, X, y) == pytest.approx(model.score(X, y))


class Stubborn(ClassifierMixin, BaseEstimator):
    """Has only the labels b and a, in this order, and always predicts b."""

    classes_ = np.array(["b", "a"])

    def predict(self, X):
        return np.full(len(X), "b")

    def predict_proba(self, X):
        return np.tile([0.8, 0.2], (len(X), 1))


def test_scorers_match_labels_by_name_and_not_by_column():
    X = np.zeros((4, 1))
    assert covering_rate_scorer(Stubborn(), X, SETS) == 0.5
    # {a, b}: 0.8; {c}: 0; {b, c}: b has all the weight that there is; {a}: 0.
    assert approximated_accuracy_scorer(Stubborn(), X, SETS) == pytest.approx((0.8 + 1.0) / 4)


@pytest.mark.parametrize("scorer", [covering_rate_scorer, approximated_accuracy_scorer])
def test_scorers_take_weights(scorer):
    X, sets = np.arange(4.0)[:, None], [{0, 1}, {2}, {1, 2}, {0}]
    model = LogisticRegression().fit(X, [0, 1, 2, 0])
    assert scorer(model, X, sets, sample_weight=np.ones(4)) == pytest.approx(scorer(model, X, sets))
    only = scorer(model, X[2:3], sets[2:3])
    assert scorer(model, X, sets, sample_weight=[0, 0, 1, 0]) == pytest.approx(only)


def test_a_mask_has_the_labels_of_the_model():
    """Also if these are numbers: a mask is read as by score."""
    X, y = np.arange(20.0)[:, None], 1 + np.arange(20) // 10
    model, mask = PLCL().fit(X, y), np.eye(2)[y - 1]
    assert covering_rate_scorer(model, X, mask) == model.score(X, mask) == 1
    assert approximated_accuracy_scorer(model, X, mask) > 0.5


def test_equal_classes_are_rejected():
    with pytest.raises(ValueError, match="class 'a' is listed more than once"):
        approximated_accuracy([{"a"}], [[0.6, 0.1, 0.3]], classes=["a", "b", "a"])
