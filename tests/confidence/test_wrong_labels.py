"""Doubt in ordinary labels, and the noise model."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.optimize import minimize_scalar
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from ambilearn import find_doubtful
from ambilearn.candidates import as_candidates
from ambilearn.confidence import Doubt, LabelDoubt
from ambilearn.confidence.wrong_labels import fit_noise_model, judge_labels

P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.9, 0.05, 0.05]])
LABELS = ["a", "b", "c", "b"]


@pytest.fixture(scope="module")
def problem():
    """Rows, true labels, given labels of which one in six is wrong, held-out probabilities."""
    X, y = make_blobs(240, n_features=5, centers=4, cluster_std=4.5, random_state=0)
    rng = np.random.default_rng(0)
    wrong = rng.random(240) < 1 / 6
    given = np.where(wrong, (y + rng.integers(1, 4, size=240)) % 4, y)
    probabilities = cross_val_predict(LogisticRegression(), X, given, method="predict_proba")
    return X, y, given, probabilities


def test_probabilities_of_any_model_correct_labels(problem):
    _, y, given, probabilities = problem
    found = find_doubtful(pred_probs=probabilities, labels=given)
    assert isinstance(found, LabelDoubt)
    assert roc_auc_score(given != y, found.score) > 0.9
    assert np.mean(found.label == y) > np.mean(given == y) + 0.05
    np.testing.assert_array_equal(found.label != given, found.change)
    np.testing.assert_array_equal(found.label[found.change], found.suggestion[found.change])
    assert (found.suggestion != given).all()


def test_confidences_of_separated_labels_are_not_all_one():
    """No row contradicts a large temperature there; the prior keeps an order of the rows."""
    for seed in (0, 2):
        rng = np.random.default_rng(seed)
        y = rng.integers(4, size=120)
        X = 4 * rng.normal(size=(4, 2))[y] + 0.6 * rng.normal(size=(120, 2))
        wrong = rng.random(120) < 0.15
        given = np.where(wrong, (y + rng.integers(1, 4, size=120)) % 4, y)
        found = find_doubtful((X - X.mean(axis=0)) / X.std(axis=0), given)
        assert np.mean(found.label == y) > 0.95
        assert found.confidence.min() < 0.999
        assert len(np.unique(found.confidence)) == 120


def test_the_rule_written_out(problem):
    _, _, given, probabilities = problem
    found = find_doubtful(pred_probs=probabilities, labels=given)
    posterior, matrix, _ = fit_noise_model(np.log(np.maximum(probabilities, 1e-6)), given)
    for i, k in enumerate(given):
        T = posterior[i]
        others = [j for j in range(4) if j != k]
        best = max(others, key=lambda j: T[j])
        assert found.other[i] == best
        assert found.suggestion[i] == (best if T[k] < 0.5 else None)
        assert found.change[i] == (T[best] > 3 * T[k])
        assert found.confidence[i] == pytest.approx(T[best if found.change[i] else k])
        assert found.score[i] == pytest.approx(1 - T[k])
    np.testing.assert_allclose(found.probabilities, posterior)
    np.testing.assert_allclose(found.noise_matrix, matrix)


def test_confidences_are_calibrated_on_average(problem):
    _, y, given, probabilities = problem
    found = find_doubtful(pred_probs=probabilities, labels=given)
    assert found.confidence.mean() == pytest.approx(np.mean(found.label == y), abs=0.05)


def test_names_of_labels_do_not_matter(problem):
    _, _, given, probabilities = problem
    names = np.array(["delta", "alpha", "charlie", "bravo"])
    frame = pd.DataFrame(probabilities, columns=names)
    expected = find_doubtful(pred_probs=probabilities, labels=given)
    for options in (
        {"pred_probs": frame},
        {"pred_probs": pa.Table.from_pandas(frame)},
        {"pred_probs": probabilities, "classes": names},
        {"pred_probs": probabilities[:, names.argsort()]},  # columns of the sorted labels
    ):
        found = find_doubtful(labels=names[given], **options)
        np.testing.assert_array_equal(found.label, names[expected.label])
        np.testing.assert_allclose(found.score, expected.score, atol=1e-8)


def test_candidate_sets_are_judged_by_probabilities_too():
    found = find_doubtful(pred_probs=P, labels=[{"a"}, {"b", "c"}, {"a", "b"}, {"b", "c"}])
    assert type(found) is Doubt
    assert found.order[0] == 3
    assert found.other.tolist() == ["b", "a", "c", "a"]


def test_weights_of_rows_are_used(problem):
    _, _, given, probabilities = problem
    weights = np.where(given == 0, 5.0, 1.0)
    sets = replace(as_candidates(given), row_weights=weights)
    found = find_doubtful(pred_probs=probabilities, labels=sets)
    _, matrix, _ = fit_noise_model(np.log(np.maximum(probabilities, 1e-6)), given, weights)
    np.testing.assert_allclose(found.noise_matrix, matrix)
    assert (
        found.noise_matrix != find_doubtful(pred_probs=probabilities, labels=given).noise_matrix
    ).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pred_probs": P}, "pass both"),
        ({"labels": LABELS}, "pass both"),
        ({"classes": ["a"]}, "pass both"),
        ({"pred_probs": P, "labels": LABELS, "X": P}, "pass one group or the other"),
        ({"pred_probs": P, "labels": LABELS, "y": LABELS}, "pass one group or the other"),
        ({"pred_probs": P, "labels": LABELS, "n_folds": 5}, "pass one group or the other"),
        ({"X": P}, r"find_doubtful\(X, y\), or"),
        ({}, r"find_doubtful\(pred_probs=P, labels=y\)"),
        ({"pred_probs": P[:3], "labels": LABELS}, "3 rows but there are 4 labels"),
        ({"pred_probs": P[:, 0], "labels": LABELS}, "1D array"),
        ({"pred_probs": [[0, 1], [1, 0]], "labels": "ab"}, "must be"),
        (
            {"pred_probs": np.where(P > 0.85, np.nan, P), "labels": LABELS},
            "contains NaN",
        ),
        ({"pred_probs": P, "labels": ["a", "b", "a", "b"]}, "2 different labels.*classes="),
        ({"pred_probs": P, "labels": LABELS, "classes": ["a", "b"]}, "3 columns for 2 classes"),
        ({"pred_probs": P, "labels": LABELS, "classes": ["a", "b", "d"]}, "'c'"),
        ({"pred_probs": P, "labels": ["a", "b", None, "b"]}, "label of row 2"),
    ],
)
def test_wrong_input_is_rejected_with_advice(options, message):
    with pytest.raises(ValueError, match=message):
        find_doubtful(**options)


def test_a_probability_of_zero_is_no_proof():
    sure = np.eye(2)[[0] * 10 + [1] * 10]
    labels = np.r_[[0] * 10, [1] * 9, 0]
    found = find_doubtful(pred_probs=sure, labels=labels)
    assert np.isfinite(found.score).all()
    assert found.order[0] == 19


def test_a_label_of_a_single_row_is_doubted_and_kept():
    table = np.tile([0.98, 0.01, 0.01], (20, 1))
    table[10:] = [0.01, 0.98, 0.01]
    labels = np.r_[[0] * 10, [1] * 9, 2]
    found = find_doubtful(pred_probs=table, labels=labels)
    assert found.order[0] == 19
    assert not found.change.any()


def test_one_label_is_never_changed():
    found = find_doubtful(pred_probs=np.ones((3, 1)), labels=["a", "a", "a"])
    assert found.label.tolist() == ["a"] * 3
    assert found.suggestion.tolist() == [None] * 3
    assert (found.score == 0).all()
    assert (found.confidence == 1).all()
    assert not found.change.any()
    assert len(find_doubtful([[0.0], [1.0]], ["a", "a"]).to_frame()) == 2


def test_a_label_that_is_always_wrong():
    """Rows of "b" that are all given as "a": the features cannot tell, and nothing breaks."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 5, rng.normal(size=(40, 2)) - 5]
    found = find_doubtful(X, ["a"] * 80 + ["c"] * 39 + ["a"])
    assert np.flatnonzero(found.change).tolist() == [119]
    swapped = judge_labels(np.log(np.tile([0.02, 0.98], (60, 1))), as_candidates([0] * 59 + [1]))
    assert np.isfinite(swapped.confidence).all()


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_uninformative_features_change_no_label(share):
    # Without the check, every label of the rarer kind would be "corrected".
    rng = np.random.default_rng(0)
    given = np.where(rng.random(100) < share, "rare", "usual")
    for X in (np.ones((100, 2)), rng.normal(size=(100, 2))):
        with pytest.warns(UserWarning, match="do not predict the given labels better than chance"):
            found = find_doubtful(X, given)
        assert not found.doubtful.any()
        np.testing.assert_array_equal(found.label, given)
        assert np.isnan(found.confidence).all()


def simulate(n, matrix, sharpness=4.0, seed=0):
    """Outputs of a calibrated classifier, true labels, and labels given with known noise."""
    rng = np.random.default_rng(seed)
    l = len(matrix)
    outputs = rng.normal(size=(n, l))
    probabilities = np.exp(sharpness * outputs)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(l, p=p) for p in probabilities])
    given = np.array([rng.choice(l, p=matrix[j]) for j in truth])
    return outputs, truth, given


PAIRS = np.array([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]])


def test_rates_and_temperature_of_simulated_noise_are_found():
    outputs, _, given = simulate(4000, PAIRS)
    _, matrix, temperature = fit_noise_model(outputs, given)
    np.testing.assert_allclose(matrix, PAIRS, atol=0.05)
    assert temperature == pytest.approx(4.0, rel=0.15)


def test_the_result_solves_the_equations_of_the_model_written_out():
    """One more literal step of the algorithm does not change the result."""
    outputs, _, given = simulate(300, PAIRS)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=300)
    posterior, matrix, temperature = fit_noise_model(outputs, given, weights)

    def held_out(b):
        F = np.exp(b * outputs)
        return F / F.sum(axis=1, keepdims=True)

    def loss(b):
        F = held_out(b)
        likelihood = [F[i] @ matrix[:, given[i]] for i in range(300)]
        return -np.sum(weights * np.log(likelihood))

    best = minimize_scalar(loss, bounds=(0.1, 50), method="bounded").x
    assert temperature == pytest.approx(best, rel=0.03)
    F = held_out(temperature)
    counts = np.zeros((3, 3))
    for i in range(300):
        T = F[i] * matrix[:, given[i]]
        T /= T.sum()
        np.testing.assert_allclose(posterior[i], T, atol=1e-12)
        counts[:, given[i]] += weights[i] * T
    total = weights.sum()
    e = (1 + total - counts[0, 0] - counts[1, 1] - counts[2, 2]) / (2 + total)
    for j in range(3):
        for k in range(3):
            prior = 1 - e if j == k else e / 2
            expected = (counts[j, k] + 50 * prior) / (counts[j].sum() + 50)
            assert matrix[j, k] == pytest.approx(expected, abs=2e-3)


def test_a_row_of_weight_two_is_the_row_twice():
    outputs, _, given = simulate(200, PAIRS)
    weights = np.where(np.arange(200) < 60, 2.0, 1.0)
    twice = np.r_[np.arange(200), np.arange(60)]
    posterior, matrix, _ = fit_noise_model(outputs, given, weights)
    repeated, same_matrix, _ = fit_noise_model(outputs[twice], given[twice])
    np.testing.assert_allclose(matrix, same_matrix, atol=1e-6)
    np.testing.assert_allclose(posterior, repeated[:200], atol=1e-6)


def test_outputs_in_another_unit_give_the_same_probabilities():
    outputs, _, given = simulate(200, PAIRS)
    one, _, temperature = fit_noise_model(outputs, given)
    other, _, other_temperature = fit_noise_model(1e4 * outputs + 7, given)
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert temperature == pytest.approx(1e4 * other_temperature, rel=1e-6)


def test_a_label_with_few_rows_has_the_common_rate_of_errors():
    outputs, _, given = simulate(2000, np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    outputs = np.column_stack([outputs, np.full(2000, -9.0)])  # a fifth label that nobody has
    _, matrix, _ = fit_noise_model(outputs, given)
    common = 1 - np.mean(np.diag(matrix)[:4])
    assert 1 - matrix[4, 4] == pytest.approx(common, abs=0.05)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)


@pytest.mark.parametrize(
    "outputs", [np.zeros((6, 2)), np.eye(2)[[0, 0, 0, 1, 1, 1]] * 1e6], ids=["constant", "certain"]
)
def test_extreme_outputs_give_probabilities(outputs):
    posterior, matrix, _ = fit_noise_model(outputs, np.array([0, 0, 1, 1, 1, 0]))
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    assert (matrix > 0).all()
