"""Metrics against cases computed by hand, and as scorers in scikit-learn's searches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from ambilearn import PLCL, as_candidates
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.metrics import (
    approximated_accuracy,
    approximated_accuracy_scorer,
    covering_rate,
    covering_rate_scorer,
    excess_calibration_error,
    expected_calibration_error,
    tolerance_accuracy,
    transductive_accuracy,
)

SETS = [{"a", "b"}, {"c"}, {"b", "c"}, {"a"}]
MASK = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("tolerance", "expected"), [(0, 1 / 6), (2.5, 2 / 6), (3, 4 / 6), (5, 5 / 6), (100, 1.0)]
)
def test_tolerance_accuracy(tolerance, expected):
    y_true = [20, 30, 40, 50, 60, 70]
    y_pred = [20, 31, 43, 47, 65, 90]
    assert tolerance_accuracy(y_true, y_pred, tolerance) == pytest.approx(expected)


def test_tolerance_in_positions_of_an_order():
    order = ["xs", "s", "m", "l", "xl"]
    assert tolerance_accuracy(["xs", "m", "l"], ["s", "xl", "l"], 1, classes=order) == 2 / 3
    ages = [10, 20, 40, 80]  # 40 → 80 is one step, 10 → 40 two
    assert tolerance_accuracy([40, 10], [80, 40], 1, classes=ages) == 0.5


def test_tolerance_of_small_unsigned_numbers():
    assert tolerance_accuracy(np.array([1], np.uint8), np.array([3], np.uint8), 3) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["b"], 1), "pass their order as classes="),
        ((["a"], ["z"], 1, ["a", "b"]), "'z' is not among the classes"),
        (([1, 2], [1], 1), "2 true but 1 predicted"),
        (([], [], 1), "0 true"),
        (([[1]], [1], 1), "one label for each row"),
    ],
)
def test_tolerance_accuracy_rejects(arguments, message):
    with pytest.raises(ValueError, match=message):
        tolerance_accuracy(*arguments)


P = np.array([[0.6, 0.4, 0.0], [0.0, 0.0, 1.0], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
H = np.array([[0.2, 0.3, 0.1], [0.5, 0.1, 0.4], [0.9, 0.5, 0.1], [0.3, 0.2, 0.1]])


def test_transductive_accuracy_in_three_readings():
    """Confidences: a c c a. Outputs within the set: b c b a. Outputs over all: b a a a."""
    found = transductive_accuracy(["a", "c", "b", "a"], SETS, P, H)
    assert found == (0.75, 0.75, 0.25)
    assert found.confidences == 0.75
    assert found.outputs_in_set == 0.75
    assert found.outputs == 0.25
    found = transductive_accuracy(["a", "c", "c", "a"], SETS, P, H)
    assert found == (1.0, 0.5, 0.25)


def test_transductive_accuracy_takes_masks_and_sparse_confidences():
    plain = transductive_accuracy(["a", "c", "b", "a"], SETS, P, H)
    assert plain == transductive_accuracy([0, 2, 1, 0], MASK, sparse.csr_array(P), H)
    assert plain == transductive_accuracy(
        ["a", "c", "b", "a"], sparse.csr_array(MASK), P, H, classes=["a", "b", "c"]
    )


def test_negative_outputs_do_not_lose_to_labels_outside_the_set():
    outputs = [[-3.0, -2.0, 5.0]]
    assert transductive_accuracy([1], [{0, 1}], [[0.5, 0.5, 0]], outputs, [0, 1, 2]) == (0, 1, 0)


def test_one_column_of_outputs_for_two_labels():
    P = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    sets = [{"a", "b"}, {"a"}, {"b"}]
    assert transductive_accuracy(["b", "a", "b"], sets, P, [2.0, -1.0, -0.5]) == (2 / 3, 1, 2 / 3)


@pytest.mark.parametrize(
    ("confidences", "outputs", "message"),
    [
        (P[:2], H, r"confidences must have the shape \(4, 3\)"),
        (P, H[:, :2], r"outputs must have the shape \(4, 3\)"),
        (P, np.where(H == 0.9, np.nan, H), "outputs contains NaN in row 2"),
    ],
)
def test_transductive_accuracy_rejects(confidences, outputs, message):
    with pytest.raises(ValueError, match=message):
        transductive_accuracy(["a", "c", "b", "a"], SETS, confidences, outputs)


@pytest.mark.parametrize(
    "score",
    [
        lambda: transductive_accuracy(["1"], [{1, 2}], [[1.0, 0.0]], [[1.0, 0.0]]),
        lambda: covering_rate([{1, 2}, {2}], ["1", "2"]),
        lambda: covering_rate(np.array([[1, 1], [0, 1]]), ["cat", "dog"]),
        lambda: approximated_accuracy([{1, 2}, {2}], np.full((2, 2), 0.5), classes=["1", "2"]),
        lambda: transductive_accuracy(["1", "2"], [{1, 2}, {2}], np.eye(2), np.eye(2)),
    ],
)
def test_labels_that_can_never_be_equal_are_no_score_of_zero(score):
    with pytest.raises(ValueError, match="they can never be equal"):
        score()


def test_labels_of_the_same_kind_may_all_be_wrong():
    assert covering_rate([{"a"}, {"b"}], ["x", "y"]) == 0.0
    assert covering_rate(np.array(["a", "b"], dtype=object), np.array(["a", "x"])) == 0.5


def test_covering_rate():
    assert covering_rate(SETS, ["a", "b", "c", "a"]) == 0.75
    assert covering_rate(MASK, [0, 1, 2, 0]) == 0.75
    assert covering_rate(sparse.csr_array(MASK), [0, 1, 2, 0]) == 0.75
    assert covering_rate(SETS, ["b", "c", "b", "a"]) == 1.0
    assert covering_rate(SETS, ["zebra"] * 4) == 0.0


def test_covering_rate_of_ordinary_labels_is_accuracy():
    y_true, y_pred = [1, 2, 2, 3], [1, 2, 3, 3]
    assert covering_rate(y_true, y_pred) == accuracy_score(y_true, y_pred)


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
        (-P, "negative entries"),
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


@pytest.mark.slow
@pytest.mark.heavy
def test_scorers_run_in_other_processes(digits):
    X, sets, _ = digits
    scores = cross_val_score(
        PLCL(max_iter=3, tol=0.5), X, sets.to_mask(), scoring=covering_rate_scorer, cv=2, n_jobs=2
    )
    assert (scores > 0.5).all()


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


def test_candidate_sets_have_the_columns_that_are_named():
    rows = [{"a", "b"}, {"b", "c"}]
    P = [[0, 0.4, 0.6], [0.7, 0.3, 0]]
    for y in (rows, as_candidates(rows)):
        found = transductive_accuracy(["a", "c"], y, P, P, classes=["c", "b", "a"])
        assert found == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    "score",
    [
        lambda rows, **options: tolerance_accuracy(rows[0], rows[1], 1, **options),
        lambda rows, **options: transductive_accuracy(*rows[2:], **options)[1],
        lambda rows, **options: covering_rate(rows[3], rows[1], **options),
        lambda rows, **options: approximated_accuracy(rows[3], rows[4], [0, 1, 2], **options),
    ],
    ids=["tolerance", "transductive", "covering", "approximated"],
)
def test_a_row_of_weight_two_counts_as_two_rows(score):
    y_true, y_pred = np.array([0, 2, 1, 0]), np.array([2, 1, 0, 0])
    rows = y_true, y_pred, y_true, MASK, P, H
    weights = [1, 2, 0, 3]
    repeated = [np.repeat(each, weights, axis=0) for each in rows]
    assert score(rows, sample_weight=weights) == pytest.approx(score(repeated))
    assert score(rows, sample_weight=weights) != score(rows)
    with pytest.raises(ValueError, match="Negative"):
        score(rows, sample_weight=[1, 1, 1, -1])


@pytest.mark.parametrize("scorer", [covering_rate_scorer, approximated_accuracy_scorer])
def test_scorers_take_weights(scorer):
    X, sets = np.arange(4.0)[:, None], [{0, 1}, {2}, {1, 2}, {0}]
    model = LogisticRegression().fit(X, [0, 1, 2, 0])
    assert scorer(model, X, sets, sample_weight=np.ones(4)) == pytest.approx(scorer(model, X, sets))
    only = scorer(model, X[2:3], sets[2:3])
    assert scorer(model, X, sets, sample_weight=[0, 0, 1, 0]) == pytest.approx(only)


def literal_ece(correct, confidence, n_bins):
    """As defined, for distinct confidences and bins that divide the rows."""
    order = np.argsort(confidence)
    parts = np.array_split(order, n_bins)
    return sum(
        len(part) / len(order) * abs(np.mean(confidence[part]) - np.mean(correct[part]))
        for part in parts
    )


def test_calibration_error_needs_a_bin():
    for error in (expected_calibration_error, excess_calibration_error):
        with pytest.raises(ValueError, match="n_bins must be at least 1, and is 0"):
            error([1, 0], [0.5, 0.5], n_bins=0)


@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_calibration_error_as_defined(n_bins):
    rng = np.random.default_rng(0)
    confidence = rng.random(200)
    correct = rng.random(200) < confidence**2
    found = expected_calibration_error(correct, confidence, n_bins=n_bins)
    assert found == pytest.approx(literal_ece(correct, confidence, n_bins))


def test_calibration_error_of_equal_confidences_does_not_depend_on_their_order():
    """All rows have the same confidence: the error is that of the mean, in any order."""
    correct = np.array([0] * 30 + [1] * 70)
    for rows in (np.arange(100), np.random.default_rng(0).permutation(100)):
        assert expected_calibration_error(correct[rows], [0.7] * 100) == pytest.approx(0)
        assert expected_calibration_error(correct[rows], [0.5] * 100) == pytest.approx(0.2)


def test_calibration_error_with_more_bins_than_rows():
    assert expected_calibration_error([1, 0], [0.75, 0.5]) == pytest.approx(0.375)


def test_weights_of_the_calibration_error():
    rng = np.random.default_rng(1)
    confidence, correct = rng.random(50), rng.random(50) < 0.5
    plain = expected_calibration_error(correct, confidence, n_bins=1)
    ones = expected_calibration_error(correct, confidence, n_bins=1, sample_weight=np.ones(50))
    assert ones == plain
    weights = rng.integers(0, 4, size=50)
    weighted = expected_calibration_error(correct, confidence, n_bins=5, sample_weight=weights)
    assert weighted != plain
    repeated = (np.repeat(values, weights) for values in (correct, confidence))
    # A row of weight 3 lies in one bin, while its repetitions may lie in two.
    assert weighted == pytest.approx(expected_calibration_error(*repeated, n_bins=5), abs=0.05)
    kept = weights > 0
    assert expected_calibration_error(
        correct[kept], confidence[kept], sample_weight=weights[kept], n_bins=5
    ) == pytest.approx(weighted)


def test_excess_is_zero_for_perfect_confidences_and_positive_for_others():
    rng = np.random.default_rng(2)
    confidence = rng.random((40, 300))
    correct = rng.random((40, 300)) < confidence
    pairs = list(zip(correct, confidence, strict=True))
    errors = [expected_calibration_error(*pair) for pair in pairs]
    excess = [excess_calibration_error(*pair) for pair in pairs]
    assert np.mean(errors) > 0.03
    assert abs(np.mean(excess)) < 0.006
    too_high = [excess_calibration_error(hits, np.sqrt(c)) for hits, c in pairs]
    assert np.mean(too_high) > 0.08


def test_excess_repeats_with_its_seed():
    correct, confidence = [1, 0, 1, 1], [0.9, 0.4, 0.6, 0.8]
    first = excess_calibration_error(correct, confidence, random_state=3)
    assert first == excess_calibration_error(correct, confidence, random_state=3)
    assert first != excess_calibration_error(correct, confidence, random_state=4)


@pytest.mark.parametrize(
    ("correct", "confidence", "message"),
    [
        ([1, 0], [0.5], "There are 1 confidences, but correct has 2 rows"),
        ([1, 0], [0.5, 1.5], "in row 1 it is 1.5"),
        ([1, 0], [0.5, np.nan], "in row 1 it is nan"),
        ([1, 2], [0.5, 0.5], "correct must be between 0 and 1"),
        ([], [], r"shape \(n_rows,\)"),
        ([[1]], [[0.5]], r"shape \(n_rows,\)"),
    ],
)
def test_calibration_error_rejects(correct, confidence, message):
    for metric in (expected_calibration_error, excess_calibration_error):
        with pytest.raises(ValueError, match=message):
            metric(correct, confidence)
