"""Confidences from answers and a classifier, and mistakes that annotators share."""

import numpy as np
import pytest
from annotators import make_sharing_crowd
from problems import excess_calibration_error

from ambilearn.crowd import Votes
from ambilearn.crowd.evidence import (
    combine_evidence,
    estimate_sharing,
    judge_rows,
    normalize,
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


def test_independent_answers_are_a_product(small):
    votes, skills, probabilities = small
    found = shared_log_likelihood(votes, probabilities, skills.pooled, 0.0)
    np.testing.assert_allclose(found, skills.log_likelihood(votes), atol=1e-12)


def test_a_thousand_answers_do_not_overflow():
    table = [["a"] * 700 + ["b"] * 300, ["b"] * 1000]
    votes = Votes.from_wide(table)
    skills = Skills.estimate(votes, np.eye(2), smoothing=1.0)
    probabilities = skills.confusion[votes.annotator_indices, :, votes.label_indices]
    for sharing in (0.0, 0.9):
        assert np.isfinite(
            shared_log_likelihood(votes, probabilities, skills.pooled, sharing)
        ).all()


def test_the_posterior_is_scaled():
    found = normalize(np.log([[0.2, 0.1], [1e-300, 1e-300]]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3], [0.5, 0.5]])


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
