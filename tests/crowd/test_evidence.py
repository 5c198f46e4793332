import numpy as np
import pytest
from annotators import make_sharing_crowd
from problems import excess_calibration_error

from ambilearn.crowd import Votes
from ambilearn.crowd.evidence import (
    combine_evidence,
    judge_rows,
    pool_evidence,
)
from ambilearn.crowd.shared_mistakes import estimate_sharing, shared_log_likelihood
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
