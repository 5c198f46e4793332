import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from ambilearn.candidates import as_candidates
from ambilearn.confidence import Doubt, LabelDoubt

SCORE, OTHER = np.array([0.0, 0.7, 0.7, 0.1]), np.array(["b", "a", "a", "b"])


def test_order_is_by_score_and_ties_keep_the_input_order():
    assert Doubt(SCORE, OTHER).order.tolist() == [1, 2, 3, 0]


def test_tables_and_texts():
    doubt = Doubt(SCORE, OTHER)
    assert doubt.to_frame().columns.to_list() == ["score", "suggestion"]
    assert repr(doubt) == "<Doubt: 4 rows, 2 with a score above 0.5>"
    assert doubt.suggestion.tolist() == [None, "a", "a", None]
    change = np.array([False, True, False, False])
    label = np.array(["a", "a", "b", "a"])
    table = np.full((4, 2), 0.5)
    found = LabelDoubt(
        SCORE,
        OTHER,
        label=label,
        change=change,
        confidence=table[:, 0],
        probabilities=table,
        classes=label[1:3],
        noise_matrix=table[:2],
    )
    frame = found.to_frame()
    assert frame.index.name == "row"
    assert frame.columns.to_list() == ["score", "suggestion", "label", "change", "confidence"]
    assert frame["label"].to_list() == label.tolist()
    assert repr(found) == "<LabelDoubt: 4 rows, 1 label to change>"


def test_a_label_is_wrong_if_another_candidate_or_none_is_right():
    labels, scores = np.array(["a", "b", "a"]), np.array([0.8, 0.5, 1.0])
    doubt = Doubt(np.array([0.0, 0.5, 0.2]), np.array(["c", "c", "c"]))
    expected = [1 / 17, 1 - 0.25 * 0.5, 3 / 7]  # doubt with three times the odds, squared odds of p
    np.testing.assert_allclose(doubt.wrong(labels, scores), expected, atol=2e-6)
    classes = np.array(["a", "b", "c"])
    within = sparse.csr_array([[0.3, 0.7, 0], [0.4, 0.6, 0], [1, 0, 0]])
    for of_member, weight in ((False, 0.5), (True, 0.1)):
        own = Doubt(doubt.score, doubt.other, within, classes=classes, of_member=of_member)
        first = 1 - expit(2 * logit(0.8) + weight * logit(0.3))
        np.testing.assert_allclose(own.wrong(labels, scores)[0], first)
    # A label that no candidate has, such as one that a person chose, has no such probability.
    np.testing.assert_allclose(own.wrong(np.array(["d"] * 3), scores), doubt.wrong(labels, scores))


def test_doubt_follows_the_outputs():
    doubt = Doubt(np.array([0.0, 0.5, 0.9]), OTHER[:3], score_after=lambda change: 0.5 + change)
    shifted = doubt.shifted(np.array([0.25, 0.25, 0.125]))
    assert shifted.score.tolist() == [0, 0.75, 0.625]
    assert shifted.suggestion.tolist() == [None, "a", "a"]


def test_settled_rows_are_certain():
    doubt = Doubt(SCORE, OTHER).settled({1, 3})
    assert doubt.score.tolist() == [0, 0, 0.7, 0]
    assert doubt.suggestion.tolist() == [None, None, "a", None]


def test_doubt_in_answers_is_what_their_judgment_leaves_for_other_labels():
    posterior = np.array([[0.5, 0.25, 0.125, 0.125], [0.0, 0.125, 0.875, 0.0], [0.25] * 4])
    answers = as_candidates([{"b"}, {"b", "c"}, {*"abcd"}])  # of another label order
    doubt = Doubt.in_answers(posterior, np.array([*"abcd"]), answers)
    assert doubt.score.tolist() == [0.25, 0, 0]
    assert doubt.other.tolist() == ["c", None, None]
    assert doubt.wrong(np.array(["a", "c", "a"]), posterior.max(axis=1)).tolist() == [
        0.5,
        0.125,
        0.75,
    ]
