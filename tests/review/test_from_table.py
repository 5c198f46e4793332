"""From a user's table to a review."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sentences import make_sentences

from ambilearn.confidence import Doubt
from ambilearn.datasets import InvalidFileError
from ambilearn.review.from_table import (
    drop_feature,
    format_cell,
    image_column,
    review_from_table,
)
from ambilearn.review.images import Images
from ambilearn.tables import read_candidate_table

PEOPLE = '''id,height,photo,comment,names
007,1.70,a.png,"tall, ""so""",anna| bob
008,,b.png,,bob
009,1.8,a.png,x,anna|cleo
'''


def people(checked=None, **options):
    options = {"candidates": "names", "exclude": ["id"], "format": "csv"} | options
    file = StringIO(checked) if checked else None
    return read_candidate_table(StringIO(PEOPLE), checked=file, **options)


def confidences(table):
    """One to one tenth, falling."""
    return np.linspace(1.0, 0.1, len(table.candidates.labels))


def test_rows_have_cells_candidates_and_the_text_of_the_table():
    table = people()
    review = review_from_table(table, confidences(table), method="PLCL")
    assert review.columns == ["id", "photo", "comment", "height"]  # what names a row first
    first, second, third = review.rows
    assert first.cells == ["007", "a.png", 'tall, "so"', "1.70"]
    assert second.cells == ["008", "b.png", "", ""]
    assert first.raw == "anna| bob"
    assert (first.labels, third.labels) == (["anna", "bob"], ["anna", "cleo"])
    assert np.allclose(first.confidences + second.confidences, [1.0, 0.775, 0.55])
    assert first.image is first.decision is None
    assert (review.separator, review.method) == ("|", "PLCL")


def test_the_answers_of_annotators_are_shown():
    rows = ["1,a,a,b", "2,b,,", "3,,,"]
    file = StringIO("\n".join(["x,ann,ben,eve", *rows]))
    table = read_candidate_table(file, candidates=["ann", "ben", "eve"], format="csv")
    review = review_from_table(table, confidences(table))
    assert review.columns == ["answers", "x"]
    assert [row.cells[0] for row in review.rows] == ["a: ann, ben; b: eve", "b: ann", ""]


def test_many_answers_are_counted():
    said = [("reef", f"p{i}", label) for i, label in enumerate("bbaaabbbb")] + [("dune", "p0", "a")]
    said = pd.DataFrame(said, columns=["item", "annotator", "label"])
    items = pd.DataFrame({"item": ["reef", "dune"], "x": [0.5, 1.5]})
    table = read_candidate_table(said, features_from=items)
    review = review_from_table(table, confidences(table))
    assert [row.cells[0] for row in review.rows] == ["b: 6; a: 3", "a: p0"]


def test_features_come_first_and_constant_columns_are_not_shown():
    names = ["a|b", "b|c", "c"]
    rows = [f"{i},same,,{i / 7},{'uvw'[i % 3]},{'ab'[i % 2]},{names[i % 3]}" for i in range(30)]
    text = "\n".join(["count,fixed,blank,size,town,truth,names", *rows])
    options = {"candidates": "names", "format": "csv"}
    table = read_candidate_table(StringIO(text), truth="truth", **options)
    assert set(table.features.left_out) == {"count", "fixed", "blank"}
    review = review_from_table(table, confidences(table))
    assert review.columns == ["count", "town", "size"]  # the first differs in all rows
    assert review.rows[4].cells == ["4", "v", "0.5714285714285714"]
    assert review_from_table(table, confidences(table), show=["size", "fixed"]).columns == [
        "size", "fixed", "town", "count",
    ]  # fmt: skip
    with pytest.raises(InvalidFileError, match="no column 'x'"):
        review_from_table(table, confidences(table), show=["x"])
    # Without --label it is a column like any other, as the page cannot know better.
    table = read_candidate_table(StringIO(text), exclude=["truth"], **options)
    assert review_from_table(table, confidences(table)).columns[-1] == "truth"


def test_texts_come_first_and_vectors_are_not_shown():
    frame = make_sentences().assign(embedding=[[i, i / 2] for i in range(120)])
    table = read_candidate_table(frame, candidates="mood", truth="truth")
    assert {column.kind for column in table.features.columns} == {"text", "vector"}
    assert review_from_table(table, confidences(table)).columns == ["id", "review"]


def test_corrected_rows_keep_all_their_candidates():
    table = people("row,candidates,label\n0,anna| bob,bob\n2,anna|cleo,dora\n")
    rows = review_from_table(table, confidences(table)).rows
    assert [row.decision for row in rows] == ["bob", None, "dora"]
    assert rows[0].ranked() == [("bob", 1.0), ("anna", 0.0)]
    assert rows[2].ranked() == [("anna", 0.0), ("cleo", 0.0)]
    assert rows[1].labels == ["bob"]


def test_several_annotators_and_numbers_as_labels():
    frame = pd.DataFrame({"x": [1.5, 2.5, 9.0], "a": [1, 2, 3], "b": [2, None, 3]})
    table = read_candidate_table(frame, candidates=["a", "b"])
    rows = review_from_table(table, confidences(table)).rows
    assert [row.raw for row in rows] == table.texts
    assert [len(row.labels) for row in rows] == [2, 1, 1]
    assert all(isinstance(label, str) for row in rows for label in row.labels)


def test_image_column_is_found_and_is_no_feature(tmp_path):
    table = people()
    assert image_column(table) == "photo"
    assert image_column(people(candidates="photo")) is None
    images = Images(tmp_path, tmp_path / "out")
    review = review_from_table(table, confidences(table), image="photo", images=images)
    assert [row.image for row in review.rows] == ["../a.png", "../b.png", "../a.png"]
    assert [cell for cell, _ in images.problems] == ["a.png", "b.png", "a.png"]
    assert {row.image_problem for row in review.rows} == {"not found"}
    assert review.columns[0] == "photo"
    kept = drop_feature(people(features=["height", "photo"]), "photo")
    assert [column.name for column in kept.features.columns] == ["height"]
    with pytest.raises(InvalidFileError, match="no column is left as a feature, because 'photo'"):
        drop_feature(people(features=["photo"]), "photo")


def test_images_written_as_text_are_not_shown_as_text():
    images = ["data:image/png;base64,AA", ""]
    frame = pd.DataFrame({"x": [1.0, 2.0], "pic": images, "c": ["a|b", "a"]})
    table = read_candidate_table(frame, candidates="c")
    assert image_column(table) == "pic"
    review = review_from_table(table, confidences(table), image="pic")
    assert review.columns == ["x"]
    assert [row.image for row in review.rows] == ["data:image/png;base64,AA", None]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (np.float64(1 / 3), "0.333333"),
        (np.float32("nan"), ""),
        (1e20, "1e+20"),
        (np.int64(7), "7"),
        (True, "True"),
        (pd.NA, ""),
        (pd.NaT, ""),
        (pd.Timestamp("2026-01-02"), "2026-01-02 00:00:00"),
        (np.array(["a", "b"]), "['a', 'b']"),
        (" as it is ", " as it is "),
    ],
)
def test_cells_as_a_person_reads_them(cell, text):
    assert format_cell(cell) == text


def test_title_of_standard_input_and_of_a_file(tmp_path):
    file = StringIO(PEOPLE)
    file.name = "<stdin>"
    table = read_candidate_table(file, candidates="names", format="csv")
    assert review_from_table(table, confidences(table)).title == "standard input"
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    table = read_candidate_table(path, candidates="names")
    assert review_from_table(table, confidences(table)).title == "people.csv"


def test_doubt_suggests_where_it_is_above_one_half_and_orders_the_rows():
    table = people()
    doubt = Doubt(np.array([0.0, 0.9, 0.6]), np.array(["cleo", "anna", "bob"]))
    review = review_from_table(table, confidences(table), doubt=doubt)
    assert [row.suggestion for row in review.rows] == [None, "anna", "bob"]
    assert [row.rank for row in review.rows] == [3, 1, 2]
    plain = review_from_table(table, confidences(table))
    assert [(row.suggestion, row.rank) for row in plain.rows] == [(None, 0)] * 3


def test_a_settled_row_has_no_suggestion_and_comes_last():
    table = people("row,candidates,label\n1,bob,dora\n")
    doubt = Doubt(np.array([0.0, 0.9, 0.1]), np.array(["cleo", "anna", "bob"]))
    row = review_from_table(table, confidences(table), doubt=doubt).rows[1]
    assert (row.suggestion, row.decision, row.rank) == (None, "dora", 3)
