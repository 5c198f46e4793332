import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from ambilearn.crowd import Votes, report_annotators

VOTES = Votes.from_wide(
    [["a", "b", None], ["b", "b", "b"], ["a", "b", None], ["a", "a", None]],
    annotators=["ann", "ben", "eve"],
)
RESULT = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.75, 0.25]])


def test_answers_and_agreement():
    report = report_annotators(VOTES, RESULT)
    assert report.answers.tolist() == [4, 4, 1]
    assert report.agreement.tolist() == [1.0, 0.5, 1.0]
    assert repr(report) == "<AnnotatorReport: 3 annotators, 9 answers, 78% agree with the result>"


def test_most_frequent_confusions():
    report = report_annotators(VOTES, RESULT)
    assert report.top_confusions(0) == []  # a quarter of an answer is none
    assert report.top_confusions(1) == [("a", "b", 2.0)]
    assert report.counts[1].tolist() == [[0.75, 2.0], [0.25, 1.0]]


def test_the_table_has_a_row_for_each_annotator():
    frame = report_annotators(VOTES, RESULT).to_frame()
    assert list(frame) == ["annotator", "answers", "agreement", "low", "high", "confusions"]
    assert frame["annotator"].to_list() == ["ben", "ann", "eve"]
    assert frame["confusions"].to_list() == ["a → b (2)", "", ""]


def test_the_confusions_in_long_form():
    frame = report_annotators(VOTES, RESULT).confusion_frame()
    ben = frame[frame["annotator"] == "ben"].drop(columns="annotator")
    assert ben.to_numpy().tolist() == [
        ["a", "a", 0.75, 0.273],
        ["a", "b", 2.0, 0.727],
        ["b", "a", 0.25, 0.2],
        ["b", "b", 1.0, 0.8],
    ]
    almost = report_annotators(VOTES, np.array([[0.99, 0.01]] * 4)).confusion_frame()
    assert set(almost["right"]) == {"a"}


@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_labels_are_a_result_too(form):
    report = report_annotators(VOTES, form(["a", "b", "a", "a"]))
    sure = report_annotators(VOTES, np.eye(2)[[0, 1, 0, 0]])
    assert report.agreement.tolist() == sure.agreement.tolist() == [1.0, 0.5, 1.0]
    np.testing.assert_array_equal(report.counts, sure.counts)


def test_a_result_that_does_not_fit_the_votes_is_rejected():
    with pytest.raises(ValueError, match=r"must have the shape \(4, 2\).*got \(3, 2\)"):
        report_annotators(VOTES, RESULT[:3])
    with pytest.raises(ValueError, match=r"or be 4 labels; got \(3,\)"):
        report_annotators(VOTES, ["a", "b", "a"])
    with pytest.raises(ValueError, match="Row 2 has the candidate label 'c', which is not among"):
        report_annotators(VOTES, ["a", "b", "c", "a"])


def test_the_columns_of_a_data_frame_are_labels():
    votes = Votes.from_wide([["x", "y"], ["y", "y"], ["x", "x"]])
    frame = pd.DataFrame({"y": [0.1, 0.9, 0.2], "x": [0.9, 0.1, 0.8]})
    expected = report_annotators(votes, frame[["x", "y"]].to_numpy())
    for table in (frame, pa.Table.from_pandas(frame)):
        assert report_annotators(votes, table).agreement.tolist() == expected.agreement.tolist()
    with pytest.raises(ValueError, match=r"columns of confidences are .* name each column"):
        report_annotators(votes, frame.rename(columns={"x": "z"}))
    numbers = Votes.from_wide([[1, 2], [2, 2], [1, 1]])
    with pytest.raises(ValueError, match="are '2', '1', but the labels of the votes are 1, 2"):
        report_annotators(numbers, frame.set_axis(["2", "1"], axis=1))
    with pytest.raises(ValueError, match="Input confidences contains NaN"):
        report_annotators(votes, frame.replace(0.9, np.nan))


def test_sparse_confidences():
    votes = Votes.from_wide([["x", "y"], ["y", "y"], ["x", "x"]])
    found = report_annotators(votes, sparse.csr_array(np.eye(2)[[0, 1, 0]]))
    assert found.agreement.tolist() == [1.0, 2 / 3]


def test_confusions_are_shown_as_a_display_of_scikit_learn():
    pytest.importorskip("matplotlib")
    display = report_annotators(VOTES, RESULT).display(1)
    assert display.ax_.get_title() == "ben"
    assert [text.get_text() for text in display.text_.ravel()] == ["1", "2", "0", "1"]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "b"]
    assert display.ax_.get_xticklabels()[0].get_rotation() == 90  # long labels do not overlap


def test_the_least_reliable_annotators_come_first_and_those_with_few_answers_last():
    """A worker with 24 answers, half of them right, was hidden behind those with more answers."""
    rows = [["a", "a", "ab"[i % 2] if i < 24 else None, None] for i in range(60)]
    rows[0][3] = "b"
    votes = Votes.from_wide(rows, annotators=["many", "all", "half", "once"])
    frame = report_annotators(votes, ["a"] * 60).to_frame()
    assert frame["annotator"].to_list() == ["half", "all", "many", "once"]
    assert frame["agreement"].to_list() == [0.5, 1, 1, 0]
    # The intervals of Clopper and Pearson of 12 of 24, 60 of 60 and 0 of 1.
    expected = [(0.291, 0.709), (0.94, 1), (0.94, 1), (0, 0.975)]
    assert list(zip(frame["low"], frame["high"], strict=True)) == expected
