import numpy as np
import pytest
from annotators import make_sharing_crowd

from ambilearn.crowd import Votes
from ambilearn.crowd.shared_mistakes import (
    estimate_sharing,
    normalize,
    shared_log_likelihood,
)
from ambilearn.crowd.skills import Skills


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
