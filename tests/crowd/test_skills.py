import numpy as np
import pytest
from annotators import LABELS, item_names, make_crowd
from hypothesis import given
from hypothesis import strategies as st

from ambilearn.crowd import Votes
from ambilearn.crowd.skills import Skills, answer_counts


def _crowd(**options):
    _, truth, answers = make_crowd(**options)
    votes = Votes.from_long(answers, items=item_names(len(truth)))
    return votes, (truth[:, None] == LABELS).astype(float)


def test_counts_as_by_hand():
    votes = Votes.from_wide([["a", "b"], ["b", "b"], ["a", None]])
    counts = answer_counts(votes, np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]))
    assert counts[0].tolist() == [[1.5, 0.25], [0.5, 0.75]]  # right label by given label
    assert counts[1].tolist() == [[0.0, 1.25], [0.0, 0.75]]


def test_rows_of_the_confusion_sum_to_one_and_none_is_impossible():
    votes, truth = _crowd(n=12)
    confusion = Skills.estimate(votes, truth, smoothing=0.1).confusion
    assert confusion.shape == (6, 3, 3)
    np.testing.assert_allclose(confusion.sum(axis=2), 1)
    assert confusion.min() > 0


def test_skill_is_found():
    votes, truth = _crowd(n=600)
    skill = Skills.estimate(votes, truth).confusion.diagonal(axis1=1, axis2=2).mean(axis=1)
    np.testing.assert_allclose(skill, [0.9, 0.8, 0.7, 0.7, 1 / 3, 1 / 3], atol=0.06)


def test_much_smoothing_makes_all_alike():
    votes, truth = _crowd()
    confusion = Skills.estimate(votes, truth, smoothing=1e9).confusion
    np.testing.assert_allclose(confusion, np.broadcast_to(confusion[0], confusion.shape), atol=1e-5)


def test_likelihood_as_by_hand():
    votes = Votes.from_wide([["a", "b"], ["b", None], [None, None]])
    skills = Skills(np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]]))
    expected = np.log([[0.9 * 0.4, 0.2 * 0.5], [0.1, 0.8], [1.0, 1.0]])
    np.testing.assert_allclose(skills.log_likelihood(votes), expected)


@given(st.integers(0, 2**16), st.floats(0.01, 10))
def test_no_other_skills_explain_the_answers_better(seed, smoothing):
    """Where nothing is smoothed much, the estimate is the maximum of the likelihood."""
    rng = np.random.default_rng(seed)
    votes = Votes.from_wide(rng.choice(["a", "b"], (20, 3)))
    P = rng.dirichlet([1, 1], 20)
    best = Skills.estimate(votes, P, smoothing=1e-9)
    other = Skills.estimate(votes, rng.dirichlet([1, 1], 20), smoothing=smoothing)
    gain = np.sum(P * (best.log_likelihood(votes) - other.log_likelihood(votes)))
    assert gain >= -1e-6


def test_an_annotator_of_one_answer_is_like_the_others():
    votes = Votes.from_wide([["a", "a", None], ["b", "b", None], ["a", "a", "b"]])
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    confusion = Skills.estimate(votes, truth).confusion
    everybody = np.array([4 + 0.5, 1 + 0.5]) / 6
    assert confusion[2, 0] == pytest.approx((np.array([0.0, 1.0]) + everybody) / 2)
