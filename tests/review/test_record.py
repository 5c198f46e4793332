"""What a review accepts, and the name under which a browser keeps the work on it."""

from dataclasses import replace

import pytest

from ambilearn.review import Review, ReviewRow
from ambilearn.review.record import MAX_ROWS

ROW = ReviewRow(["1"], ["a", "b"], [0.5, 0.5], "a|b")


def test_ranked_keeps_the_order_of_equals():
    row = ReviewRow([], ["c", "a", "b"], [0.2, 0.4, 0.4], "c|a|b")
    assert row.ranked() == [("a", 0.4), ("b", 0.4), ("c", 0.2)]
    assert replace(row, label="c").ranked() == [("c", 0.2), ("a", 0.4), ("b", 0.4)]


def test_classes_are_all_labels_sorted_as_people_sort(people):
    rows = [*people.rows, replace(people.rows[0], decision="Bea", suggestion="dora")]
    assert replace(people, rows=rows).classes == ["anna", "Bea", "bob", "cleo", "dora"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no row to review"),
        ([ROW] * (MAX_ROWS + 1), f"at most {MAX_ROWS} rows, not {MAX_ROWS + 1}: split"),
        ([ROW, replace(ROW, cells=[])], "Row 1 has 0 cells, not 1"),
        ([ROW, replace(ROW, labels=[], confidences=[])], "Row 1 has no candidate label"),
        ([replace(ROW, confidences=[1.0])], "Row 0 has 2 candidates and 1 confidences"),
        ([ROW, replace(ROW, suggestion="b")], "Row 1 has the candidate 'b' as suggestion"),
        ([replace(ROW, confidences=[float("nan"), 1.0])], "Row 0 has a confidence that is not"),
        ([replace(ROW, confidences=[float("inf"), 1.0])], "Row 0 has a confidence that is not"),
    ],
)
def test_parts_that_do_not_fit_are_rejected(rows, message):
    with pytest.raises(ValueError, match=message):
        Review("t.csv", ["x"], rows)


def test_numbers_of_all_rows_are_needed():
    with pytest.raises(ValueError, match="2 rows, but 1 numbers"):
        Review("t.csv", ["x"], [ROW, ROW], numbers=[1])


def test_fingerprint_is_that_of_the_table(people):
    first = people.rows[0]

    def changed(**parts):
        return replace(people, rows=[replace(first, **parts), *people.rows[1:]]).fingerprint

    assert changed() == people.fingerprint
    assert changed(confidences=[0.4, 0.6]) == people.fingerprint
    assert changed(image="a.png", decision="bob") == people.fingerprint
    assert changed(suggestion="cleo", rank=3) == people.fingerprint
    assert replace(people, title="other.csv", method="SURE").fingerprint == people.fingerprint
    others = {
        changed(raw="bob|anna"),
        changed(cells=["photo 0", "Roma"]),
        replace(people, rows=people.rows[:-1]).fingerprint,
        replace(people, rows=people.rows[::-1]).fingerprint,
        replace(people, columns=["photo", "city"]).fingerprint,
    }
    assert len(others) == 5
    assert people.fingerprint not in others


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("people.csv", "people-corrections.csv"),
        ("my people (2).parquet", "my-people-2-corrections.csv"),
        ("../../etc/passwd.csv", "passwd-corrections.csv"),
        ("Über:uns.csv", "Über-uns-corrections.csv"),
        ("...", "review-corrections.csv"),
        ("", "review-corrections.csv"),
    ],
)
def test_name_of_the_download(people, title, name):
    assert replace(people, title=title).download == name
