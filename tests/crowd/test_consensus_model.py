import numpy as np
import pandas as pd
import pytest
from annotators import make_sharing_crowd
from problems import excess_calibration_error
from sklearn.exceptions import ConvergenceWarning

from ambilearn.crowd import Votes, consensus


@pytest.fixture(scope="module")
def crowd():
    return make_sharing_crowd(n=400, sharing=0.3)


@pytest.fixture(scope="module")
def found(crowd):
    votes, outputs, _ = crowd
    return consensus(votes, outputs)


def test_labels_are_better_than_answers_or_model_alone(crowd, found):
    votes, outputs, truth = crowd
    majority = votes.counts().toarray().argmax(axis=1)
    alone = max((majority == truth).mean(), (outputs.argmax(axis=1) == truth).mean())
    assert (found.labels == truth).mean() > alone + 0.03


def test_confidences_are_calibrated(crowd, found):
    right = found.labels == crowd[2]
    assert excess_calibration_error(right, found.confidences) < 0.05
    assert right[found.confidences > 0.9].mean() > right[found.confidences < 0.6].mean() + 0.3


def test_results_fit_together(crowd, found):
    votes, _, _ = crowd
    np.testing.assert_allclose(found.label_distributions.sum(axis=1), 1)
    np.testing.assert_array_equal(found.label_distributions.max(axis=1), found.confidences)
    np.testing.assert_array_equal(
        votes.classes[found.label_distributions.argmax(axis=1)], found.labels
    )
    assert found.annotators.answers.sum() == votes.n_answers
    assert found.skills.confusion.shape == (20, 6, 6)
    assert found.sharing == pytest.approx(0.3, abs=0.15)
    assert 0 < found.feature_trust <= 1
    mean = found.confidences.mean()
    assert repr(found) == f"<Consensus: 400 items, 20 annotators, mean confidence {mean:.0%}>"


def test_the_skills_are_recovered(crowd, found):
    votes, _, truth = crowd
    right = truth[votes.item_indices] == votes.label_indices
    share = np.bincount(votes.annotator_indices, right) / found.annotators.answers
    assert np.abs(found.annotators.agreement - share).mean() < 0.05
    assert np.corrcoef(found.annotators.agreement, share)[0, 1] > 0.8


def test_a_table_of_answers_is_read(crowd, found):
    votes, outputs, _ = crowd
    table = np.full((400, 20), None, dtype=object)
    table[votes.item_indices, votes.annotator_indices] = votes.label_indices
    again = consensus(pd.DataFrame(table), outputs.tolist())
    np.testing.assert_array_equal(again.label_distributions, found.label_distributions)


def test_a_limit_before_convergence_is_a_warning(crowd):
    votes, outputs, _ = crowd
    with pytest.warns(ConvergenceWarning, match="consensus stopped after max_iter=1 "):
        consensus(votes, outputs, max_iter=1)


def test_the_table_of_labels(crowd, found):
    frame = found.to_frame()
    assert list(frame) == ["item", "label", "confidence", "answers", "agreement"]
    assert frame["answers"].eq(5).all()
    counts = crowd[0].counts().toarray()
    assert frame["agreement"][7] == counts[7, found.labels[7]] / 5


def test_one_annotator():
    votes, outputs, truth = make_sharing_crowd(n_annotators=1, answers=1)
    found = consensus(votes, outputs)
    right = found.labels == truth
    alone = votes.label_indices == truth
    assert right.mean() > max(alone.mean(), (outputs.argmax(axis=1) == truth).mean()) + 0.02
    assert found.annotators.agreement[0] == pytest.approx(alone.mean(), abs=0.2)


def test_items_without_answers_and_labels_without_answers():
    votes = Votes.from_long(
        [(i, "ann", "ab"[i % 2]) for i in range(20)], items=range(25), classes=["a", "b", "c"]
    )
    outputs = np.tile([0.6, 0.3, 0.1], (25, 1))
    outputs[1:20:2] = [0.3, 0.6, 0.1]
    found = consensus(votes, outputs)
    assert found.labels.tolist() == ["a", "b"] * 10 + ["a"] * 5
    np.testing.assert_allclose(found.label_distributions.sum(axis=1), 1)
    assert found.label_distributions[:, 2].max() < 0.2
    frame = found.to_frame()
    assert frame["agreement"].isna().sum() == 5
    assert frame["answers"][20:].eq(0).all()


def test_a_single_label():
    found = consensus([["x", "x"], ["x", None]], [[1.0], [1.0]])
    assert found.labels.tolist() == ["x", "x"]
    assert found.confidences.tolist() == [1.0, 1.0]


def test_agreement_of_answers_and_model_raises_the_confidence(crowd, found):
    votes, outputs, _ = crowd
    agrees = outputs.argmax(axis=1) == votes.counts().toarray().argmax(axis=1)
    assert found.confidences[agrees].mean() > found.confidences[~agrees].mean() + 0.1


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (np.full((400, 5), 0.2), r"shape \(400, 6\).*got \(400, 5\).*classes="),
        (np.full((400, 6), 0.5), "Row 0 of pred_probs sums to 3, not to 1"),
        (np.eye(6)[[0] * 399 + [1]] - np.eye(6)[[1] * 399 + [1]], "negative entry -1 in row 0"),
        (np.full((400, 6), np.nan), "Input pred_probs contains NaN"),
    ],
)
def test_wrong_probabilities(crowd, outputs, message):
    with pytest.raises(ValueError, match=message):
        consensus(crowd[0], outputs)


def test_columns_of_a_data_frame_are_labels():
    votes = Votes.from_wide([["a", "a", "b"], ["b", "b", "a"], ["a", "b", "b"], ["a", "a", "a"]])
    table = pd.DataFrame({"b": [0.2, 0.7, 0.1, 0.3], "a": [0.8, 0.3, 0.9, 0.7]})
    by_name, by_place = consensus(votes, table), consensus(votes, table[["a", "b"]].to_numpy())
    np.testing.assert_array_equal(by_name.label_distributions, by_place.label_distributions)
    with pytest.raises(ValueError, match="name each column by its label"):
        consensus(votes, table.rename(columns={"b": "c"}))


@pytest.mark.parametrize(
    "options", [{"smoothing": 0}, {"smoothing": np.nan}, {"smoothing": "x"}, {"max_iter": 0}]
)
def test_rejects_parameters(options):
    votes = Votes.from_wide([["a", "b"], ["b", "b"]])
    with pytest.raises(ValueError, match=rf"{next(iter(options))} must be"):
        consensus(votes, [[0.5, 0.5]] * 2, **options)


def test_boolean_labels_of_a_data_frame():
    """pandas would take a list of them for a mask of rows."""
    votes = Votes.from_wide([[True, False], [False, False], [True, True]])
    frame = pd.DataFrame({True: [0.9, 0.2, 0.7], False: [0.1, 0.8, 0.3]})
    assert consensus(votes, frame).labels.tolist() == [True, False, True]
    with pytest.raises(ValueError, match="smoothing must be"):
        consensus(votes, frame, smoothing=np.inf)
    masked = np.ma.array(frame.to_numpy(), mask=[[True, False]] * 3)
    with pytest.raises(ValueError, match="pred_probs is a masked array"):
        consensus(votes, masked)
