import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ambilearn.candidates import as_candidates
from ambilearn.confidence import Doubt
from ambilearn.tables.ranking import Choices, choose_candidates, choose_labels, review_order

SETS = as_candidates([{"a", "b"}, {"b"}, {"a", "b", "c"}, {"c"}])
CONFIDENCES = np.array([0.4, 0.6, 1.0, 0.2, 0.2, 0.6, 1.0])


def test_the_best_candidate_its_confidence_and_margin():
    choices = choose_candidates(SETS, CONFIDENCES)
    assert choices.labels.tolist() == ["b", "b", "c", "c"]
    np.testing.assert_allclose(choices.scores, [0.6, 1, 0.6, 1])
    np.testing.assert_allclose(choices.margins, [0.2, 1, 0.4, 1])
    assert review_order(choices).tolist() == [0, 2, 1, 3]


def test_the_first_of_equals():
    choices = choose_candidates(SETS, np.array([0.5, 0.5, 1, 1 / 3, 1 / 3, 1 / 3, 1]))
    assert choices.labels.tolist() == ["a", "b", "a", "c"]
    assert choices.margins.tolist() == [0, 1, 0, 1]
    # The same margin: what is less sure comes first.
    assert review_order(choices).tolist() == [2, 0, 1, 3]


def test_the_margin_of_a_single_candidate_that_annotators_leave_open():
    sets = as_candidates([{"a"}, {"b"}, {"a", "b"}])
    judged = np.array([[0.875, 0.125], [0.25, 0.75], [0.5, 0.5]])
    scores = np.array([0.875, 1.0, 0.5, 0.5])  # a person chose the second label
    assert choose_candidates(sets, scores, judged=judged).margins.tolist() == [0.75, 1, 0]
    assert choose_candidates(sets, scores).margins.tolist() == [1, 1, 0]


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True), min_size=1))
def test_agrees_with_a_loop(rows):
    sets = as_candidates([set(row) for row in rows], classes=range(5))
    rng = np.random.default_rng(0)
    confidences = rng.integers(0, 4, len(sets.labels)) / 4  # with ties
    choices = choose_candidates(sets, confidences)
    for i in range(len(rows)):
        pairs = slice(sets.indptr[i], sets.indptr[i + 1])
        values = confidences[pairs]
        assert choices.labels[i] == sets.classes[sets.labels[pairs]][values.argmax()]
        assert choices.scores[i] == values.max()
        ranked = sorted(values, reverse=True)
        assert choices.margins[i] == (ranked[0] - ranked[1] if len(ranked) > 1 else 1)


def test_among_all_labels():
    classes = np.array(["a", "b", "c"])
    choices = choose_labels(classes, np.array([[0.2, 0.5, 0.3], [1, 0, 0], [0.4, 0.4, 0.2]]))
    assert choices.labels.tolist() == ["b", "a", "a"]
    np.testing.assert_allclose(choices.scores, [0.5, 1, 0.4])
    np.testing.assert_allclose(choices.margins, [0.2, 1, 0])


def test_the_order_is_by_the_probability_of_a_wrong_label():
    scores = np.array([0.9, 0.6, 1.0, 1.0, 0.9])
    margins = np.array([0.8, 0.2, 1.0, 1.0, 0.7])
    choices = Choices(np.array(["a"] * 5), scores, scores, margins)
    doubt = Doubt(np.array([0.0, 0.1, 0.7, 0.2, 0.0]), np.array(["b"] * 5))
    # .1, .46, .7, .2 and .1: the smaller margin of equals comes first.
    assert review_order(choices, doubt).tolist() == [2, 1, 3, 4, 0]
    assert review_order(choices, doubt, settled={2, 4}).tolist() == [1, 3, 0, 2, 4]
    assert review_order(choices).tolist() == [1, 4, 0, 2, 3]
