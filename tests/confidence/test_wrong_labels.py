from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from ambilearn import find_doubtful
from ambilearn.candidates import as_candidates
from ambilearn.confidence import Doubt, LabelDoubt
from ambilearn.confidence.noise_model import fit_noise_model
from ambilearn.confidence.wrong_labels import judge_labels, read_probabilities

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


def test_the_rule_written_out(problem):
    _, _, given, probabilities = problem
    found = find_doubtful(pred_probs=probabilities, labels=given)
    model = fit_noise_model(np.log(np.maximum(probabilities, 1e-6)), given)
    for i, k in enumerate(given):
        T = model.posterior[i]
        others = [j for j in range(4) if j != k]
        best = max(others, key=lambda j: T[j])
        assert found.other[i] == best
        assert found.suggestion[i] == (best if T[k] < 0.5 else None)
        assert found.change[i] == (T[best] > 3 * T[k])
        assert found.confidence[i] == pytest.approx(T[best if found.change[i] else k])
        assert found.score[i] == pytest.approx(1 - T[k])
    np.testing.assert_allclose(found.probabilities, model.posterior)
    np.testing.assert_allclose(found.noise_matrix, model.matrix)


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
    expected = fit_noise_model(np.log(np.maximum(probabilities, 1e-6)), given, weights)
    np.testing.assert_allclose(found.noise_matrix, expected.matrix)
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
        (
            {"pred_probs": P * 1.1, "labels": LABELS},
            "Row 0 .* sums to 1.1.*4 such rows",
        ),
        ({"pred_probs": [[0, 1], [1, 0]], "labels": "ab"}, "must be"),
        (
            {"pred_probs": [[0.5, 0.5], [1.2, -0.2]], "labels": ["a", "b"]},
            "-0.2 in row 1",
        ),
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


def test_rounded_probabilities_are_accepted():
    outputs, sets = read_probabilities(P.astype(np.float32).round(3), LABELS, None)
    np.testing.assert_allclose(np.exp(outputs), P, atol=1e-3)
    assert sets.classes.tolist() == ["a", "b", "c"]


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
