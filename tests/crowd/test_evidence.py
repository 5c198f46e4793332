"""Confidences from answers and a classifier, and mistakes that annotators share."""

import numpy as np
import pandas as pd
import pytest
from annotators import make_sharing_crowd
from problems import excess_calibration_error
from sklearn.exceptions import ConvergenceWarning

from ambilearn.crowd import Votes, consensus
from ambilearn.crowd.evidence import (
    combine_evidence,
    estimate_sharing,
    judge_rows,
    pool_evidence,
    shared_log_likelihood,
)
from ambilearn.crowd.skills import Skills


def test_answers_and_features_as_by_hand():
    likelihood = np.array([[0.5, 0.1], [0.2, 0.2]])
    held_out = np.array([[0.8, 0.2], [0.0, 1.0]])
    prior = np.array([0.5, 0.5])
    found = combine_evidence(np.log(likelihood), held_out, prior, max_iter=2000)
    mixed = found.feature_trust * held_out + (1 - found.feature_trust) * prior
    joint = likelihood * mixed
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-6)
    grid = np.linspace(0, 1, 1001)
    total = [
        np.log((likelihood * (t * held_out + (1 - t) * prior)).sum(axis=1)).sum() for t in grid
    ]
    assert found.feature_trust == pytest.approx(grid[np.argmax(total)], abs=0.01)


def test_a_classifier_that_is_always_wrong_is_ignored():
    likelihood = np.log(np.array([[0.9, 0.1]] * 5 + [[0.1, 0.9]] * 5))
    wrong = np.array([[0.0, 1.0]] * 5 + [[1.0, 0.0]] * 5)
    found = combine_evidence(likelihood, wrong, np.array([0.5, 0.5]))
    assert found.feature_trust < 1e-6
    assert found.confidences[:, 0].round(2).tolist() == [0.9] * 5 + [0.1] * 5


def _normalized(table):
    return table / table.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def crowd():
    return make_sharing_crowd(n=300, sharing=0.4)


@pytest.fixture(scope="module")
def judged(crowd):
    votes, outputs, _ = crowd
    T = _normalized(votes.counts().toarray() + 0.1)
    for _ in range(10):
        found = judge_rows(votes, T, outputs)
        T = found.confidences
    return found


def test_a_round_is_skills_then_rows(crowd):
    votes, outputs, _ = crowd
    T = _normalized(votes.counts().toarray() + 0.1)
    for smoothing in (2.0, "auto"):
        skills = Skills.estimate(votes, T, smoothing=smoothing)
        found = judge_rows(votes, T, outputs, smoothing)
        e = 1 - found.feature_trust
        mixed = (1 - e) * outputs + e * T.mean(axis=0)
        expected = _normalized(np.exp(skills.log_likelihood(votes)) * mixed)
        np.testing.assert_allclose(found.confidences, expected, atol=1e-5)


def test_the_mean_of_three_models_as_by_hand(crowd, judged):
    votes, F, _ = crowd
    T = judged.confidences
    prior = T.mean(axis=0)

    def answers(confidences):
        skills = Skills.estimate(votes, confidences)
        return votes, skills.held_out_probabilities(votes, confidences), skills.pooled

    def log_likelihood(confidences):
        return shared_log_likelihood(*answers(confidences), sharing)

    sharing = estimate_sharing(*answers(T), prior, F)
    R, A = T, T
    for _ in range(6):
        R = combine_evidence(log_likelihood(R), F, prior).confidences
        A = _normalized(np.exp(log_likelihood(A)) * prior)
    found = pool_evidence(votes, judged.confidences, F)
    assert found.sharing == sharing > 0
    np.testing.assert_allclose(found.confidences, (T + R + (A + F) / 2) / 3, atol=1e-5)


def test_features_alone_are_as_sure_as_the_mean_is_of_their_labels(crowd, judged):
    votes, F, _ = crowd
    found = pool_evidence(votes, judged.confidences, F)
    share = found.confidences[np.arange(len(F)), F.argmax(axis=1)].mean()
    scaled = _normalized(F**found.inverse_temperature)
    assert scaled.max(axis=1).mean() == pytest.approx(share, abs=1e-4)


def test_shared_mistakes_do_not_make_labels_too_sure(crowd, judged):
    votes, F, truth = crowd
    pooled = pool_evidence(votes, judged.confidences, F).confidences
    excess = {}
    for name, table in (("product", judged.confidences), ("pool", pooled)):
        best = table.argmax(axis=1)
        excess[name] = excess_calibration_error(best == truth, table.max(axis=1))
    assert excess["pool"] < 0.05 < excess["product"]


def test_items_without_answers_are_like_new_rows(judged, crowd):
    votes, F, _ = crowd
    answered = votes.item_indices >= 20
    fewer = Votes(
        votes.items,
        votes.annotators,
        votes.classes,
        votes.item_indices[answered],
        votes.annotator_indices[answered],
        votes.label_indices[answered],
    )
    found = pool_evidence(fewer, judged.confidences, F)
    expected = _normalized(F[:20] ** found.inverse_temperature)
    np.testing.assert_allclose(found.confidences[:20], expected, atol=1e-5)
    assert not np.allclose(found.confidences[20], F[20] ** found.inverse_temperature)


def test_zeros_of_the_classifier_exclude_no_label():
    votes = Votes.from_wide([["a", "a"], ["b", "b"], ["a", "b"]])
    wrong = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    sure = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    found = pool_evidence(votes, sure, wrong)
    assert np.isfinite(found.confidences).all()
    np.testing.assert_allclose(found.confidences.sum(axis=1), 1)


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    table = rng.choice(np.array(["a", "b", "c", None], dtype=object), (15, 4))
    table[3] = None  # an item without answers
    table[4] = "b"
    votes = Votes.from_wide(table)
    skills = Skills.estimate(votes, rng.dirichlet(np.ones(3), 15), smoothing=1.0)
    probabilities = skills.confusion[votes.annotator_indices, :, votes.label_indices]
    return votes, skills, probabilities


@pytest.mark.parametrize("sharing", [0.0, 0.3, 0.9])
def test_likelihood_as_by_hand(small, sharing):
    votes, skills, probabilities = small
    found = shared_log_likelihood(votes, probabilities, skills.pooled, sharing)
    for i in range(15):
        here = votes.item_indices == i
        who, given = votes.annotator_indices[here], votes.label_indices[here]
        for j in range(3):
            total = 0.0
            for z in range(3):  # what the item looks like to everybody
                product = skills.pooled[j, z]
                for a, k in zip(who, given, strict=True):
                    product *= sharing * (k == z) + (1 - sharing) * skills.confusion[a, j, k]
                total += product
            assert found[i, j] == pytest.approx(np.log(total))


def test_a_thousand_answers_do_not_overflow():
    table = [["a"] * 700 + ["b"] * 300, ["b"] * 1000]
    votes = Votes.from_wide(table)
    skills = Skills.estimate(votes, np.eye(2), smoothing=1.0)
    probabilities = skills.confusion[votes.annotator_indices, :, votes.label_indices]
    for sharing in (0.0, 0.9):
        assert np.isfinite(
            shared_log_likelihood(votes, probabilities, skills.pooled, sharing)
        ).all()


def _estimate(votes, outputs, truth):
    """The estimate for known labels, and so known skills."""
    n_labels = outputs.shape[1]
    known = np.eye(n_labels)[truth]
    skills = Skills.estimate(votes, known)
    probabilities = skills.held_out_probabilities(votes, known)
    prior = np.full(n_labels, 1 / n_labels)
    return estimate_sharing(votes, probabilities, skills.pooled, prior, outputs)


@pytest.mark.parametrize("sharing", [0.0, 0.3, 0.6])
def test_sharing_is_recovered(sharing):
    crowd = make_sharing_crowd(sharing=sharing)
    assert _estimate(*crowd) == pytest.approx(sharing, abs=0.11)


def test_annotators_who_copy_each_other_share_mistakes():
    votes, outputs, truth = make_sharing_crowd(n_annotators=2, answers=2)
    first = votes.label_indices[votes.annotator_indices == 0]
    copied = Votes.from_wide(np.stack([first, first], axis=1), classes=range(6))
    assert _estimate(copied, outputs, truth) >= 0.8 > _estimate(votes, outputs, truth)


@pytest.fixture(scope="module")
def found(crowd):
    votes, outputs, _ = crowd
    return consensus(votes, outputs)


def test_labels_are_better_than_answers_or_model_alone(crowd, found):
    votes, outputs, truth = crowd
    majority = votes.counts().toarray().argmax(axis=1)
    alone = max((majority == truth).mean(), (outputs.argmax(axis=1) == truth).mean())
    assert (found.labels == truth).mean() > alone + 0.03


def test_results_fit_together(crowd, found):
    votes, _, _ = crowd
    np.testing.assert_allclose(found.label_distributions.sum(axis=1), 1)
    np.testing.assert_array_equal(found.label_distributions.max(axis=1), found.confidences)
    np.testing.assert_array_equal(
        votes.classes[found.label_distributions.argmax(axis=1)], found.labels
    )
    assert found.annotators.answers.sum() == votes.n_answers
    assert found.skills.confusion.shape == (20, 6, 6)
    assert found.sharing == pytest.approx(0.4, abs=0.15)
    assert 0 < found.feature_trust <= 1
    mean = found.confidences.mean()
    assert repr(found) == f"<Consensus: 300 items, 20 annotators, mean confidence {mean:.0%}>"


def test_a_table_of_answers_is_read(crowd, found):
    votes, outputs, _ = crowd
    table = np.full((300, 20), None, dtype=object)
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


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (np.full((300, 5), 0.2), r"shape \(300, 6\).*got \(300, 5\).*classes="),
        (np.full((300, 6), np.nan), "Input pred_probs contains NaN"),
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
