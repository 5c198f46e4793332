"""The page of an audit: drawn rows with their numbers, and nothing that tells the label."""

import pandas as pd
import pytest

from ambilearn.review import render_review
from ambilearn.review.audit import review_from_audit

FRAME = pd.DataFrame(
    {
        "height": [1.0, 2.0, 3.0],
        "photo": ["a.png", "b.png", ""],
        "names": ["bob|anna", "anna|cleo", "anna"],
        "label": ["bob", "anna", "anna"],
        "score": [0.9123, 0.4567, 0.8],
    }
)
HIDDEN = {"names", "label", "score"}


def test_rows_in_the_drawn_order_with_their_numbers():
    labels, texts = FRAME["label"].to_list(), FRAME["names"].to_list()
    review = review_from_audit(FRAME, [2, 0], labels, texts, hidden=HIDDEN, name="my.csv")
    assert review.numbers == [2, 0]
    assert review.columns == ["height", "photo"]
    assert [row.cells for row in review.rows] == [["3", ""], ["1", "a.png"]]
    assert [row.labels for row in review.rows] == [["anna"], ["anna", "bob"]]
    assert [row.raw for row in review.rows] == ["anna", "bob|anna"]
    assert [row.rank for row in review.rows] == [1, 2]
    assert review.download == "my-audit.csv"


def test_the_page_has_no_score_and_not_the_label():
    """Candidates are in alphabetical order, with equal numbers."""
    labels, texts = FRAME["label"].to_list(), FRAME["names"].to_list()
    review = review_from_audit(FRAME, [0, 1], labels, texts, hidden=HIDDEN)
    html = render_review(review)
    assert "0.9123" not in html
    assert "0.4567" not in html
    assert "drawn at random" in html
    assert all(set(row.confidences) == {0.0} for row in review.rows)
    swapped = review_from_audit(FRAME, [0, 1], ["anna", "cleo", "anna"], texts, hidden=HIDDEN)
    assert render_review(swapped) == html


def test_without_candidates_all_labels_are_offered_if_they_are_few():
    review = review_from_audit(FRAME, [1], FRAME["label"].to_list(), hidden=HIDDEN)
    assert review.rows[0].labels == ["anna", "bob"]
    assert review.rows[0].raw == "anna"
    many = [f"name {i}" for i in range(30)]
    review = review_from_audit(pd.DataFrame({"x": range(30)}), [7], many)
    assert review.rows[0].labels == ["name 7"]


def test_images():
    labels = FRAME["label"].to_list()
    review = review_from_audit(FRAME, [0, 2], labels, hidden=HIDDEN, image="photo")
    assert review.columns == ["height"]
    assert review.rows[0].image_problem == "not found"
    assert (review.rows[1].image, review.rows[1].image_problem) == (None, None)


def test_numbers_of_all_rows_are_needed():
    review = review_from_audit(FRAME, [2, 0], FRAME["label"].to_list())
    with pytest.raises(ValueError, match="2 rows, but 1 numbers"):
        type(review)(review.title, review.columns, review.rows, numbers=[1])


@pytest.mark.parametrize("label", ["1", "2"])
def test_whole_numbers_are_offered_once(label):
    """A second form of the checked label would reveal it."""
    frame = pd.DataFrame({"x": [0.5]})
    review = review_from_audit(frame, [0], [label], ["1.0|2.0"])
    assert review.rows[0].labels == ["1.0", "2.0"]
