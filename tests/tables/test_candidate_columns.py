import io
import json

import numpy as np
import pandas as pd
import pytest

from ambilearn.datasets import InvalidFileError
from ambilearn.datasets.frames import read_frame
from ambilearn.tables import TableDescription, read_candidate_table
from ambilearn.tables.candidate_columns import expand_patterns, parse_candidates

ROWS = [
    {"id": "r1", "height": 1.0, "width": 2, "names": ["anna", "bob"], "truth": "bob"},
    {"id": "r2", "height": 0.5, "width": 3, "names": ["bob"], "truth": "bob"},
    {"id": "r3", "height": 2.5, "width": 1, "names": ["cleo", "anna"], "truth": "anna"},
]


@pytest.fixture(params=["csv", "tsv", "jsonl", "parquet", "jsonl-text", "parquet-text"])
def table(request, tmp_path):
    """The same table in every form."""
    format, _, text = request.param.partition("-")
    path = tmp_path / f"faces.{format}"
    frame = pd.DataFrame(ROWS)
    if text or format in ("csv", "tsv"):
        frame["names"] = ["|".join(names) for names in frame["names"]]
    if format == "parquet":
        frame.to_parquet(path)
    elif format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    else:
        frame.to_csv(path, index=False, sep="," if format == "csv" else "\t")
    return path


def test_every_format_gives_the_same(table):
    read = read_candidate_table(table, candidates="names", truth="truth", exclude=["id"])
    assert read.candidates.to_sets() == [set(row["names"]) for row in ROWS]
    assert read.candidates.classes.tolist() == ["anna", "bob", "cleo"]
    assert read.texts == ["anna|bob", "bob", "cleo|anna"]
    assert read.truth == ["bob", "bob", "anna"]
    assert read.X.columns.to_list() == ["height", "width"]
    np.testing.assert_array_equal(read.X.to_numpy(), [[1.0, 2.0], [0.5, 3.0], [2.5, 1.0]])
    assert read.X.dtypes.to_list() == [np.float64, np.float64]
    assert read.name == str(table)


def parse(name, frame, *columns, **options):
    return parse_candidates(
        name, frame, TableDescription(source=frame, candidates=columns, **options)
    )


def csv(text, columns="c", **options):
    return parse("t.csv", read_frame(io.StringIO(text), format="csv"), *columns.split(), **options)


def column(*cells, **options):
    frame = pd.DataFrame({"c": pd.Series(list(cells), dtype=object)})
    return parse("t.jsonl", frame, "c", **options)


def test_another_separator_and_blanks():
    sets, texts, _, _ = csv("x,c\n1, anna ; bob\n2,bob\n", sep=";")
    assert sets.to_sets() == [{"anna", "bob"}, {"bob"}]
    assert texts == [" anna ; bob", "bob"]


def test_a_separator_is_taken_literally():
    assert csv("x,c\n1,a.b\n2,b\n", sep=".").sets.to_sets() == [{"a", "b"}, {"b"}]
    with pytest.raises(ValueError, match="sep must not be empty"):
        csv("x,c\n1,a\n", sep="")


def test_numbers_in_lists_stay_numbers():
    sets, texts, _, _ = column([3, 1], [2], 2)
    assert sets.classes.tolist() == [1, 2, 3]
    assert texts == ["3|1", "2", "2"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, "", []])
def test_missing_votes_are_not_in_the_text(missing):
    frame = pd.DataFrame({"a": [missing, 7], "b": [5, 6]}, dtype=object)
    sets, texts, _, _ = parse("t", frame, "a", "b")
    assert texts == ["5", "7|6"]
    assert sets.to_sets() == [{5}, {6, 7}]


@pytest.mark.parametrize("word", ["NA", "N/A", "NaN", "nan", "null", "None", "<NA>", " NA "])
def test_a_cell_that_is_nothing_but_a_word_for_missing(word):
    with pytest.raises(
        InvalidFileError,
        match=r"t.csv, candidates in 'c': Row 1 has no candidate label at all\. Fill it in.*"
        rf"A cell '{word.strip()}' is read as missing; if that is a label.*\(--na-is-label\)",
    ):
        csv(f"x,c\n1,a\n2,{word}\n")
    sets = csv(f"x,c\n1,a\n2,{word}\n", na_is_label=True).sets.to_sets()
    assert sets == [{"a"}, {word.strip()}]


def test_all_rows_without_candidates_are_named():
    with pytest.raises(InvalidFileError) as caught:
        csv("x,c\n1,NA\n2,b\n3,\n4,null\n")
    assert str(caught.value) == (
        "t.csv, candidates in 'c': Rows 0, 2, 3 have no candidate label at all. Fill in the 3 "
        "rows, leave them out, or let them have any label: missing='skip' or 'any' (--missing). A "
        "cell 'NA' or 'null' is read as missing; if that is a label, say so by "
        "na_is_label=True (--na-is-label)."
    )
    with pytest.raises(InvalidFileError, match=r"Rows 0, 2 have .*\(--missing\)\.$"):
        csv("x,c\n1,\n2,NA\n3,  \n", na_is_label=True)


def test_a_word_among_other_labels_or_in_a_list_is_a_label():
    assert csv("x,c\n1,NA|ZA\n2,ZA\n").sets.to_sets() == [{"NA", "ZA"}, {"ZA"}]
    assert column(["NA"], ["ZA"]).sets.to_sets() == [{"NA"}, {"ZA"}]


def test_an_annotator_who_writes_a_word_for_missing_has_no_vote():
    text = "x,a1,a2\n1,cat,NA\n2,NA,dog\n3,fox,dog\n"
    with pytest.warns(
        UserWarning, match=r"'a1', 'a2': A cell 'NA' is read as missing.* no vote .*2 rows: 0, 1\."
    ):
        sets, texts, _, _ = csv(text, "a1 a2")
    assert sets.to_sets() == [{"cat"}, {"dog"}, {"fox", "dog"}]
    assert texts == ["cat", "dog", "fox|dog"]
    sets, *_ = csv(text, "a1 a2", na_is_label=True)
    assert sets.to_sets() == [{"cat", "NA"}, {"NA", "dog"}, {"fox", "dog"}]


def test_one_column_for_each_annotator():
    text = "x,a1,a2,a3\n1,cat,cat,dog\n2,,dog,dog\n3,fox,fox,\n"
    assert csv(text, "a1 a2 a3").sets.to_sets() == [{"cat", "dog"}, {"dog"}, {"fox"}]
    sets, texts, _, _ = csv(text, "a1 a2 a3", min_votes=2)
    assert sets.to_sets() == [{"cat"}, {"dog"}, {"fox"}]
    assert texts == ["cat|cat|dog", "dog|dog", "fox|fox"]  # as the table has them


def test_annotators_who_never_agree():
    text = "x,a1,a2\n1,cat,dog\n2,dog,dog\n"
    with pytest.raises(InvalidFileError, match=r"t.csv, candidates in 'a1', 'a2': In row 0 no"):
        csv(text, "a1 a2", min_votes=2)
    sets, *_ = csv(text, "a1 a2", min_votes=2, fallback="union")
    assert sets.to_sets() == [{"cat", "dog"}, {"dog"}]
    with pytest.raises(ValueError, match="fallback must be 'error' or 'union'"):
        csv(text, "a1 a2", fallback="none")


@pytest.mark.parametrize("fallback", ["error", "union"])
def test_min_votes_on_one_column_is_rejected_not_ignored(fallback):
    message = r"min_votes=2 counts votes over several columns.* 'c' is one column.*--min-votes"
    with pytest.raises(ValueError, match=message):
        csv("x,c\n1,cat|dog\n2,dog\n", min_votes=2, fallback=fallback)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ([{"a": 1}], r"Row 1 has \{'a': 1\} as a label"),
        ([["a"]], r"Row 1 has \['a'\] as a label"),
        (["a", None], r"Row 1 has a missing label"),
        ([], r"Row 1 has no candidate"),
        (None, r"Row 1 has no candidate"),
        (np.nan, r"Row 1 has no candidate"),
        (["a", 5], r"different types"),
        ("a||b", r"Row 1 has an empty label in 'a\|\|b'"),
    ],
)
def test_cells_that_are_no_candidates_are_rejected(cell, message):
    with pytest.raises(InvalidFileError, match=r"t.jsonl, candidates in 'c': .*" + message):
        column(["a"], cell)


def test_whole_numbers_that_pandas_wrote_with_a_point_are_the_same_labels():
    file = io.StringIO("x,A,B,truth\n1,1,1.0,1.0\n2,2,,2.0\n3,3,2.0|3.0,\n4,1,NA,1.0\n")
    with pytest.warns(UserWarning, match="'NA' is read as missing"):
        table = read_candidate_table(file, candidates=["A", "B"], truth="truth", format="csv")
    assert list(table.candidates) == [{"1": 2}, {"2": 1}, {"2": 1, "3": 2}, {"1": 1}]
    assert table.votes.classes.tolist() == ["1", "2", "3"]
    assert table.texts == ["1|1", "2", "3|2|3", "1"]

    assert table.truth == ["1", "2", None, "1"]


@pytest.mark.parametrize("other", ["1.5", "v1", "1.0.0", "1e0"])
def test_numbers_with_other_labels_stay_text(other):
    assert csv(f"A,B\n1,1.0\n2,{other}\n", "A B").sets.to_sets() == [{"1", "1.0"}, {"2", other}]


def test_a_code_for_no_answer_is_no_label_in_a_joined_cell_either():
    sets, texts, _, _ = csv("c\ncat|-1|owl\nowl\n-1|cat\n", no_answer=["-1"])
    assert sets.to_sets() == [{"cat", "owl"}, {"owl"}, {"cat"}]
    assert texts == ["cat|owl", "owl", "cat"]
    assert csv("A,B\n1,-1|2\n-1|-1,1\n", "A B", no_answer=["-1"]).sets.to_sets() == [
        {"1", "2"},
        {"1"},
    ]
    assert column(["cat", -1], ["owl"], no_answer=["-1"]).sets.to_sets() == [{"cat"}, {"owl"}]


@pytest.mark.parametrize("empty", ["-1,-1", ",-1", ",", "-1|-1,"])
def test_a_row_without_answers_may_have_any_label(empty):
    text = f"A,B\n1,2\n{empty}\n3,3\n"
    with pytest.warns(UserWarning, match=r"'A', 'B': 1 row without labels \(1\): every label"):
        sets, texts, votes, _ = csv(text, "A B", no_answer=["-1"])
    assert sets.to_sets() == [{"1", "2"}, {"1", "2", "3"}, {"3"}]
    assert texts == ["1|2", "", "3|3"]
    assert votes.unanswered.tolist() == [1]
    with pytest.warns(UserWarning, match="every label is a candidate"):
        sets, *_ = csv(text, "A B", no_answer=["-1"], min_votes=2, fallback="union")
    assert sets.to_sets() == [{"1", "2"}, {"1", "2", "3"}, {"3"}]


def test_no_answer_at_all():
    with pytest.raises(InvalidFileError, match="'A', 'B': No row has a label"):
        csv("A,B\n-1,-1\n,-1\n", "A B", no_answer=["-1"])


FRAME = pd.DataFrame([["1", "a", "b", "a"]] * 3, columns=["x", "A1", "A2", "B*"])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["A*"], ["A1", "A2"]),
        (["A2", "A*"], ["A2", "A1"]),
        (["A?"], ["A1", "A2"]),
        (["A[13]"], ["A1"]),
        (["B*"], ["B*"]),  # a column of that very name
        (["nowhere"], ["nowhere"]),  # rejected later
    ],
)
def test_patterns(names, expected):
    assert expand_patterns("t.csv", FRAME, names) == tuple(expected)


def test_a_pattern_that_nothing_matches():
    with pytest.raises(InvalidFileError, match=r"t.csv: no column matches 'C\*'. .* has x, A1"):
        expand_patterns("t.csv", FRAME, ["C*"])


def test_labels_that_contain_the_separator_give_a_warning():
    frame = pd.DataFrame({"names": [["a|b", "c"], ["c"], ["a|b"]], "x": [1, 2, 3]})
    with pytest.warns(UserWarning, match=r"the label 'a\|b' contains '\|', which separates labels"):
        read_candidate_table(frame, candidates="names")


def test_a_label_with_half_a_character_is_reported_with_its_row():
    frame = pd.DataFrame({"x": [1, 2, 3], "names": [["a"], ["a", "caf\ud800"], ["a"]]})
    with pytest.raises(InvalidFileError, match=r"row 1: the label 'caf\\ud800' has an invalid"):
        parse("t", frame, "names")


def test_weights_of_a_json_file(tmp_path):
    rows = [
        {"x": 1, "names": {"cat ": 0.75, "dog": 0.25}},
        {"x": 2, "names": {"dog": 1}},
        {"x": 3, "names": ["cat", "dog"]},
        {"x": 4, "names": {"cat": 3, "fox": None}},
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = read_candidate_table(tmp_path / "t.jsonl", candidates="names")
    assert list(table.candidates) == [
        {"cat": 0.75, "dog": 0.25},
        {"dog": 1.0},
        {"cat": 1.0, "dog": 1.0},
        {"cat": 3.0},
    ]
    assert table.texts == ["cat |dog", "dog", "cat|dog", "cat|fox"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"cat": -1}, "Row 1"),
        ({"cat": "much"}, "Row 1"),
        ({"cat": 1, "cat ": 2}, "Row 1 has the label 'cat' twice"),
        ({" ": 1}, "Row 1 has a missing label"),
        ({}, "Row 1 has no candidate label"),
    ],
)
def test_weights_that_are_invalid(cell, message):
    frame = pd.DataFrame({"x": [1, 2], "names": [{"cat": 1.0, "dog": 1.0}, cell]})
    with pytest.raises(InvalidFileError, match=message):
        read_candidate_table(frame, candidates="names")


def test_annotators_give_no_weights():
    frame = pd.DataFrame({"x": [1, 2], "a": ["cat", "dog"], "b": ["cat", {"dog": 1.0}]})
    with pytest.raises(InvalidFileError, match="labels must be text or numbers, not dict"):
        read_candidate_table(frame, candidates=["a", "b"])


@pytest.mark.parametrize("empty", ["", "NA", "-1"])
def test_rows_without_candidates(empty):
    text = f"x,c\n1,a|b\n2,{empty}\n3,b\n"
    with pytest.raises(InvalidFileError, match="--missing"):
        csv(text, no_answer=["-1"], missing="error")
    with pytest.warns(UserWarning, match=r"1 row without labels \(1\): every label"):
        kept = csv(text, no_answer=["-1"], missing="any")
    assert kept.sets.to_sets() == [{"a", "b"}, {"a", "b"}, {"b"}]
    assert kept.texts == ["a|b", "", "b"]
    with pytest.warns(UserWarning, match=r"1 row without labels \(1\): left out"):
        fewer = csv(text, no_answer=["-1"], missing="skip")
    assert fewer.sets.to_sets() == [{"a", "b"}, {"b"}]
    assert fewer.frame["x"].to_list() == ["1", "3"]
    with pytest.raises(ValueError, match="missing must be"):
        csv(text, missing="drop")
