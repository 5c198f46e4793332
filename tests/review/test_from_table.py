"""From a user's table to a review."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sentences import make_sentences

from ambilearn.confidence import Doubt
from ambilearn.datasets import InvalidFileError
from ambilearn.review import render_review
from ambilearn.review.from_table import (
    PLAIN,
    JudgedTable,
    Layout,
    drop_feature,
    format_cell,
    image_column,
    review_from_audit,
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


def page(table, layout=PLAIN, **known):
    """The page of a table whose candidates have scores from one to one tenth, falling."""
    scores = np.linspace(1.0, 0.1, len(table.candidates.labels))
    return review_from_table(JudgedTable(table, scores, **known), layout)


def test_rows_have_cells_candidates_and_the_text_of_the_table():
    table = people()
    review = page(table, method="PLCL")
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
    review = page(table)
    assert review.columns == ["answers", "x"]
    assert [row.cells[0] for row in review.rows] == ["a: ann, ben; b: eve", "b: ann", ""]


def test_many_answers_are_counted():
    said = [("reef", f"p{i}", label) for i, label in enumerate("bbaaabbbb")] + [("dune", "p0", "a")]
    said = pd.DataFrame(said, columns=["item", "annotator", "label"])
    items = pd.DataFrame({"item": ["reef", "dune"], "x": [0.5, 1.5]})
    table = read_candidate_table(said, features_from=items)
    review = page(table)
    assert [row.cells[0] for row in review.rows] == ["b: 6; a: 3", "a: p0"]


def test_features_come_first_and_constant_columns_are_not_shown():
    names = ["a|b", "b|c", "c"]
    rows = [f"{i},same,,{i / 7},{'uvw'[i % 3]},{'ab'[i % 2]},{names[i % 3]}" for i in range(30)]
    text = "\n".join(["count,fixed,blank,size,town,truth,names", *rows])
    options = {"candidates": "names", "format": "csv"}
    table = read_candidate_table(StringIO(text), truth="truth", **options)
    assert set(table.features.left_out) == {"count", "fixed", "blank"}
    review = page(table)
    assert review.columns == ["count", "town", "size"]  # the first differs in all rows
    assert review.rows[4].cells == ["4", "v", "0.5714285714285714"]
    assert page(table, Layout(first=["size", "fixed"])).columns == [
        "size", "fixed", "town", "count",
    ]  # fmt: skip
    with pytest.raises(InvalidFileError, match="no column 'x'"):
        page(table, Layout(first=["x"]))
    # Without --label it is a column like any other, as the page cannot know better.
    table = read_candidate_table(StringIO(text), exclude=["truth"], **options)
    assert page(table).columns[-1] == "truth"


def test_a_card_shows_no_anonymous_numbers():
    numbers = {f"pixel_{i}": [(7 * row + i) % 5 for row in range(9)] for i in range(12)}
    frame = pd.DataFrame({"photo": [f"{i}.png" for i in range(9)], **numbers})
    frame["names"] = ["a|b", "b", "a"] * 3
    table = read_candidate_table(frame, candidates="names")
    review = page(table)
    assert review.n_shown == review.columns.index("pixel_0") == 1
    assert page(people()).n_shown == 8


def test_texts_come_first_and_vectors_are_not_shown():
    frame = make_sentences().assign(embedding=[[i, i / 2] for i in range(120)])
    table = read_candidate_table(frame, candidates="mood", truth="truth")
    assert {column.kind for column in table.features.columns} == {"text", "vector"}
    assert page(table).columns == ["id", "review"]


def test_corrected_rows_keep_all_their_candidates():
    table = people("row,candidates,label\n0,anna| bob,bob\n2,anna|cleo,dora\n")
    rows = page(table).rows
    assert [row.decision for row in rows] == ["bob", None, "dora"]
    assert rows[0].ranked() == [("bob", 1.0), ("anna", 0.0)]
    assert rows[2].ranked() == [("anna", 0.0), ("cleo", 0.0)]
    assert rows[1].labels == ["bob"]


def test_several_annotators_and_numbers_as_labels():
    frame = pd.DataFrame({"x": [1.5, 2.5, 9.0], "a": [1, 2, 3], "b": [2, None, 3]})
    table = read_candidate_table(frame, candidates=["a", "b"])
    rows = page(table).rows
    assert [row.raw for row in rows] == table.texts
    assert [len(row.labels) for row in rows] == [2, 1, 1]
    assert all(isinstance(label, str) for row in rows for label in row.labels)


def test_image_column_is_found_and_is_no_feature(tmp_path):
    table = people()
    assert image_column(table) == "photo"
    assert image_column(people(candidates="photo")) is None
    images = Images(tmp_path, tmp_path / "out")
    review = page(table, Layout("photo", images))
    assert [row.image for row in review.rows] == ["../a.png", "../b.png", "../a.png"]
    assert [cell for cell, _ in images.problems] == ["a.png", "b.png", "a.png"]
    assert {row.image_problem for row in review.rows} == {"not found"}
    assert review.columns[0] == "photo"
    kept = drop_feature(people(features=["height", "photo"]), "photo")
    assert [column.name for column in kept.features.columns] == ["height"]
    with pytest.raises(InvalidFileError, match="no column is left as a feature, because 'photo'"):
        drop_feature(people(features=["photo"]), "photo")


def test_a_column_of_images_that_a_network_converts_remains_a_feature():
    table = people(features=["photo"], embed={"photo": "m"})
    assert image_column(table) == "photo"
    assert drop_feature(table, "photo").features == table.features


def test_images_written_as_text_are_not_shown_as_text():
    images = ["data:image/png;base64,AA", ""]
    frame = pd.DataFrame({"x": [1.0, 2.0], "pic": images, "c": ["a|b", "a"]})
    table = read_candidate_table(frame, candidates="c")
    assert image_column(table) == "pic"
    review = page(table, Layout("pic"))
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
    assert page(table).title == "standard input"
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    table = read_candidate_table(path, candidates="names")
    assert page(table).title == "people.csv"


def test_doubt_suggests_where_it_is_above_one_half_and_the_order_gives_the_ranks():
    doubt = Doubt(np.array([0.2, 0.9, 0.6]), np.array(["cleo", "anna", "anna"]))
    rows = page(people(), doubt=doubt, order=np.array([1, 2, 0])).rows
    # The last one is a candidate, which the judging of annotators has found.
    assert [row.suggestion for row in rows] == [None, "anna", None]
    assert [row.rank for row in rows] == [3, 1, 2]
    assert [(row.suggestion, row.rank) for row in page(people()).rows] == [(None, 0)] * 3


# --- audit ----------------------------------------------------------------------------------------

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
    review = review_from_audit(FRAME, [0, 2], labels, hidden=HIDDEN, layout=Layout("photo"))
    assert review.columns == ["height"]
    assert review.rows[0].image_problem == "not found"
    assert (review.rows[1].image, review.rows[1].image_problem) == (None, None)


@pytest.mark.parametrize("label", ["1", "2"])
def test_whole_numbers_are_offered_once(label):
    """A second form of the checked label would reveal it."""
    frame = pd.DataFrame({"x": [0.5]})
    review = review_from_audit(frame, [0], [label], ["1.0|2.0"])
    assert review.rows[0].labels == ["1.0", "2.0"]
