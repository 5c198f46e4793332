"""Skills of annotators, and the model of Dawid and Skene."""

import warnings

import numpy as np
import pytest
from annotators import LABELS, item_names, make_crowd
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import dirichlet_multinomial
from sklearn.exceptions import ConvergenceWarning

from ambilearn.crowd import Votes, dawid_skene
from ambilearn.crowd.skills import Skills, answer_counts, choose_smoothing, pool_counts


def _crowd(**options):
    _, truth, answers = make_crowd(**options)
    votes = Votes.from_long(answers, items=item_names(len(truth)))
    return votes, (truth[:, None] == LABELS).astype(float)


def test_counts_as_by_hand():
    votes = Votes.from_wide([["a", "b"], ["b", "b"], ["a", None]])
    counts = answer_counts(votes, np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]))
    assert counts[0].tolist() == [[1.5, 0.25], [0.5, 0.75]]  # right label by given label
    assert counts[1].tolist() == [[0.0, 1.25], [0.0, 0.75]]


def test_likelihood_as_by_hand():
    votes = Votes.from_wide([["a", "b"], ["b", None], [None, None]])
    counts = np.array([[[9.0, 1.0], [2.0, 8.0]], [[6.0, 4.0], [5.0, 5.0]]])
    skills = Skills(counts, np.full((2, 2), 0.5), smoothing=1e-12)
    expected = np.log([[0.9 * 0.4, 0.2 * 0.5], [0.1, 0.8], [1.0, 1.0]])
    np.testing.assert_allclose(skills.log_likelihood(votes), expected)


@given(st.integers(0, 2**16), st.floats(0.01, 10))
def test_no_other_skills_explain_the_answers_better(seed, smoothing):
    """Without smoothing, the estimate is the maximum of the likelihood."""
    rng = np.random.default_rng(seed)
    votes = Votes.from_wide(rng.choice(["a", "b"], (20, 3)))
    P = rng.dirichlet([1, 1], 20)
    best = Skills.estimate(votes, P, smoothing=1e-9)
    other = Skills.estimate(votes, rng.dirichlet([1, 1], 20), smoothing=smoothing)
    gain = np.sum(P * (best.log_likelihood(votes) - other.log_likelihood(votes)))
    assert gain >= -1e-6


def test_an_annotator_with_one_answer_is_like_the_others():
    votes = Votes.from_wide([["a", "a", None], ["b", "b", None], ["a", "a", "b"]])
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    confusion = Skills.estimate(votes, truth, smoothing=1.0).confusion
    everybody = np.array([4 + 0.5, 1 + 0.5]) / 6
    assert confusion[2, 0] == pytest.approx((np.array([0.0, 1.0]) + everybody) / 2)


def test_an_answer_is_judged_by_the_other_items_of_its_annotator():
    """As if the skills were estimated again without the item, with the same prior."""
    rng = np.random.default_rng(0)
    table = [[set(rng.choice(list("abc"), rng.integers(3))) for _ in range(3)] for _ in range(12)]
    votes = Votes.from_wide(table)  # some annotators give several labels, some none
    T = rng.dirichlet(np.ones(3), 12)
    skills = Skills.estimate(votes, T, smoothing=2.0)
    found = skills.held_out_probabilities(votes, T)
    places = zip(votes.item_indices, votes.annotator_indices, votes.label_indices, strict=True)
    for row, (i, a, k) in zip(found, places, strict=True):
        others = (votes.item_indices != i) & (votes.annotator_indices == a)
        counts = np.zeros((3, 3))
        for item, label in zip(
            votes.item_indices[others], votes.label_indices[others], strict=True
        ):
            counts[:, label] += T[item]
        smoothed = counts + 2.0 * skills.pooled
        np.testing.assert_allclose(row, smoothed[:, k] / smoothed.sum(axis=1), atol=1e-12)


def _marginal_likelihood(counts, s):
    """Of scipy's Dirichlet–multinomial; the coefficients of the multinomial do not depend on s."""
    prior = s * pool_counts(counts)
    rows = [(prior[j], n) for a in counts for j, n in enumerate(a) if n.sum()]
    return sum(dirichlet_multinomial.logpmf(n, alpha, int(n.sum())) for alpha, n in rows)


def test_smoothing_has_the_largest_marginal_likelihood():
    votes, truth = _crowd(n=150)
    counts = answer_counts(votes, truth)
    found = choose_smoothing(counts)
    best = minimize(
        lambda u: -_marginal_likelihood(counts, np.exp(u[0])), [0.0], method="Nelder-Mead"
    )
    assert found == pytest.approx(np.exp(best.x[0]), rel=0.01)
    assert Skills.estimate(votes, truth).smoothing == found


def test_smoothing_is_recovered_from_simulated_annotators():
    rng = np.random.default_rng(0)
    mean = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
    for strength in (3.0, 30.0):
        rows = [[rng.dirichlet(strength * row) for row in mean] for _ in range(200)]
        counts = np.array([[rng.multinomial(60, row) for row in matrix] for matrix in rows])
        assert choose_smoothing(counts.astype(float)) == pytest.approx(strength, rel=0.2)


def test_equal_annotators_are_smoothed_most():
    counts = np.tile([[8.0, 2.0], [1.0, 9.0]], (5, 1, 1))
    assert choose_smoothing(counts) > 1000


def test_soft_confidences_do_not_hide_that_annotators_differ():
    votes, truth = _crowd(n=300)
    soft = 0.6 * truth + 0.4 / 3
    assert Skills.estimate(votes, soft).smoothing == Skills.estimate(votes, truth).smoothing
    assert choose_smoothing(answer_counts(votes, soft)) > 1.5 * choose_smoothing(
        answer_counts(votes, truth)
    )


@pytest.mark.filterwarnings("ignore")  # of pandas, about crowd-kit
def test_it_equals_crowd_kit():
    from crowdkit.aggregation import DawidSkene

    _, _, answers = make_crowd(n=60)
    votes = Votes.from_long(answers, items=item_names(60))
    frame = votes.to_frame().set_axis(["task", "worker", "label"], axis=1)
    model = DawidSkene(n_iter=5, tol=-1e9).fit(frame)
    expected = model.probas_.reindex(votes.items)[votes.classes.tolist()]
    found = dawid_skene(votes, max_iter=5, tol=0)
    np.testing.assert_allclose(found, expected.to_numpy(), atol=1e-6)


def test_items_without_answers_get_the_shares_of_the_labels():
    _, _, answers = make_crowd()
    votes = Votes.from_long(
        answers, items=[*item_names(), "new"], classes=["cat", "dog", "emu", "x"]
    )
    posterior = dawid_skene(votes)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    np.testing.assert_allclose(posterior[-1], posterior[:-1].mean(axis=0), atol=1e-12)
    assert posterior[:, 3].max() < 1e-6  # nobody gave it


def test_the_iterations_end_when_nothing_changes():
    _, _, answers = make_crowd()
    votes = Votes.from_long(answers)
    found, further = dawid_skene(votes, tol=1e-9), dawid_skene(votes, max_iter=200, tol=0)
    np.testing.assert_allclose(found, further, atol=1e-6)
    assert not np.allclose(dawid_skene(votes, max_iter=1, tol=0), dawid_skene(votes))


def test_a_limit_before_convergence_is_a_warning():
    votes = Votes.from_long(make_crowd()[2])
    with pytest.warns(ConvergenceWarning, match="dawid_skene stopped after max_iter=1 "):
        dawid_skene(votes, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dawid_skene(votes)
        dawid_skene(votes, max_iter=1, tol=0)
    with pytest.raises(ValueError, match="max_iter must be at least 1; got 0"):
        dawid_skene(votes, max_iter=0)


def test_a_table_of_answers_is_read():
    table = [["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]]
    np.testing.assert_array_equal(dawid_skene(table), dawid_skene(Votes.from_wide(table)))
    with pytest.raises(ValueError, match="The votes are 3: pass a list"):
        dawid_skene(3)
