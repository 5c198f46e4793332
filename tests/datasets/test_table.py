import io
import json

import numpy as np
import pandas as pd
import pytest

from ambilearn.datasets import InvalidFileError, read_table

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


def test_every_format_gives_the_same_record(table):
    data = read_table(table, candidates="names", label="truth", exclude=["id"])
    np.testing.assert_array_equal(data.X, [[1.0, 2.0], [0.5, 3.0], [2.5, 1.0]])
    assert data.X.dtype == np.float64
    assert data.candidates.to_sets() == [set(row["names"]) for row in ROWS]
    assert data.y.tolist() == ["bob", "bob", "anna"]
    assert data.classes.tolist() == ["anna", "bob", "cleo"]
    assert data.feature_names == ("height", "width")
    assert data.name == "faces"
    assert data.source == str(table)
    assert data.scaling == "none"


def test_features_may_be_chosen(table):
    data = read_table(table, candidates="names", features=["width"])
    np.testing.assert_array_equal(data.X, [[2.0], [3.0], [1.0]])
    assert data.y is None


def csv(text, **options):
    return read_table(io.StringIO(text), format="csv", **({"candidates": "c"} | options))


def test_another_separator_and_blanks():
    data = csv("x,c\n1, anna ; bob\n2,bob\n", sep=";")
    assert data.candidates.to_sets() == [{"anna", "bob"}, {"bob"}]


def test_a_separator_is_taken_literally():
    assert csv("x,c\n1,a.b\n2,b\n", sep=".").candidates.to_sets() == [{"a", "b"}, {"b"}]
    with pytest.raises(ValueError, match="sep must not be empty"):
        csv("x,c\n1,a\n", sep="")


def test_labels_of_a_csv_file_are_text():
    data = csv("x,c,t\n1,1|2,2\n2,02,02\n", label="t")
    assert data.classes.tolist() == ["02", "1", "2"]
    assert data.y.tolist() == ["2", "02"]


def test_labels_that_look_missing():
    data = csv("x,c\n1,NA|None\n2,null\n", na_is_label=True)
    assert data.classes.tolist() == ["NA", "None", "null"]


@pytest.mark.parametrize("word", ["NA", "N/A", "NaN", "nan", "null", "None", "<NA>", " NA "])
def test_a_cell_that_is_nothing_but_a_word_for_missing(word):
    with pytest.raises(
        InvalidFileError,
        match=r"table, candidates in 'c': Row 1 has no candidate label at all\. Drop the row.*"
        rf"A cell '{word.strip()}' is read as missing; if that is a label.*\(--na-is-label\)",
    ):
        csv(f"x,c\n1,a\n2,{word}\n")
    sets = csv(f"x,c\n1,a\n2,{word}\n", na_is_label=True).candidates.to_sets()
    assert sets == [{"a"}, {word.strip()}]


def test_all_rows_without_candidates_are_named():
    with pytest.raises(InvalidFileError) as caught:
        csv("x,c\n1,NA\n2,b\n3,\n4,null\n")
    assert str(caught.value) == (
        "table, candidates in 'c': Rows 0, 2, 3 have no candidate label at all. Drop the 3 rows, "
        "or fill them in. A cell 'NA' or 'null' is read as missing; if that is a label, say so by "
        "na_is_label=True (--na-is-label)."
    )
    with pytest.raises(InvalidFileError, match=r"Rows 0, 2 have .*fill them in\.$"):
        csv("x,c\n1,\n2,NA\n3,  \n", na_is_label=True)


def test_a_word_among_other_labels_or_in_a_list_is_a_label(tmp_path):
    assert csv("x,c\n1,NA|ZA\n2,ZA\n").candidates.to_sets() == [{"NA", "ZA"}, {"ZA"}]
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1, "c": ["NA"]}\n{"x": 2, "c": ["ZA"]}\n')
    assert read_table(path, candidates="c").candidates.to_sets() == [{"NA"}, {"ZA"}]


def test_an_annotator_who_writes_a_word_for_missing_has_no_vote():
    text = "x,a1,a2\n1,cat,NA\n2,NA,dog\n3,fox,dog\n"
    with pytest.warns(
        UserWarning, match=r"'a1', 'a2': A cell 'NA' is read as missing.* no vote .*2 rows: 0, 1\."
    ):
        sets = csv(text, candidates=["a1", "a2"]).candidates.to_sets()
    assert sets == [{"cat"}, {"dog"}, {"fox", "dog"}]
    sets = csv(text, candidates=["a1", "a2"], na_is_label=True).candidates.to_sets()
    assert sets == [{"cat", "NA"}, {"NA", "dog"}, {"fox", "dog"}]


def test_numbers_in_json_stay_numbers(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1, "c": [3, 1], "t": 3}\n{"x": 2, "c": [2], "t": 2}\n')
    data = read_table(path, candidates="c", label="t")
    assert data.classes.tolist() == [1, 2, 3]
    assert data.y.tolist() == [3, 2]


def test_one_column_for_each_annotator():
    text = "x,a1,a2,a3\n1,cat,cat,dog\n2,,dog,dog\n3,fox,fox,\n"
    columns = ["a1", "a2", "a3"]
    assert csv(text, candidates=columns).candidates.to_sets() == [{"cat", "dog"}, {"dog"}, {"fox"}]
    assert csv(text, candidates=columns, min_votes=2).candidates.to_sets() == [
        {"cat"}, {"dog"}, {"fox"},
    ]  # fmt: skip
    assert csv(text, candidates=columns).X.tolist() == [[1], [2], [3]]


def test_annotators_who_never_agree():
    text = "x,a1,a2\n1,cat,dog\n2,dog,dog\n"
    with pytest.raises(InvalidFileError, match=r"table, candidates in 'a1', 'a2': In row 0 no"):
        csv(text, candidates=["a1", "a2"], min_votes=2)
    sets = csv(text, candidates=["a1", "a2"], min_votes=2, fallback="union").candidates
    assert sets.to_sets() == [{"cat", "dog"}, {"dog"}]


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "?", "null", "NULL", "n/a"])
def test_missing_features_are_nan(missing):
    X = csv(f"x,z,c\n1,{missing},a\n2,5.5,b\n").X
    np.testing.assert_array_equal(X, [[1, np.nan], [2, 5.5]])


def test_missing_features_in_json(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1, "c": ["a"]}\n{"x": null, "z": 2, "c": ["b"]}\n')
    data = read_table(path, candidates="c")
    np.testing.assert_array_equal(data.X, [[1, np.nan], [np.nan, 2]])


def test_truth_values_are_zero_and_one(tmp_path):
    assert csv("x,c\nTrue,a\nFalse,b\n").X.tolist() == [[1], [0]]
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": true, "c": ["a"]}\n{"x": null, "c": ["b"]}\n{"x": "2", "c": ["b"]}\n')
    np.testing.assert_array_equal(read_table(path, candidates="c").X, [[1], [np.nan], [2]])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,c\n1,a\n2,\n", {}, r"csv, candidates in 'c': Row 1 has no candidate"),
        ("x,c\n1,a||b\n", {}, r"Row 0 has an empty label in 'a\|\|b'"),
        ("x,c\n1,a\ntall,b\n", {}, r"column 'x', row 1: 'tall' is not a number.*exclude="),
        ("x,c\n1,a\n1_000,b\n", {}, r"row 1: '1_000' is not a number"),
        ("x,c\n1,a\n", {"candidates": "d"}, r"no column 'd'.*It has: x, c"),
        ("x,names\n1,a\n", {"candidates": "name"}, r"Did you mean 'names'\?"),
        ("x,c\n1,a\n", {"label": "t"}, r"no column 't'"),
        ("x,c\n1,a\n", {"exclude": "t"}, r"no column 't'"),
        ("x,c\n1,a\n", {"features": ["t"]}, r"no column 't'"),
        ("x,c\n1,a\n", {"exclude": "x"}, r"no column is left as a feature"),
        ("x,c,t\n1,a,a\n2,b,a\n", {"label": "t"}, r"'t', row 1: the label 'a' is not among"),
        ("x,c,t\n1,a,a\n2,b,z\n", {"label": "t"}, r"'t', row 1: the label 'z' is not among"),
        ("x,c,t\n1,a,a\n2,b,\n", {"label": "t"}, r"'t', row 1: expected one label, found ''"),
    ],
)
def test_errors_name_file_column_and_row(tmp_path, text, options, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match=message) as caught:
        read_table(path, **({"candidates": "c"} | options))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": {"deep": 1}, "c": ["a"]}, r"column 'x', row 1: \{'deep': 1\} is not a number"),
        ({"x": [1, 2], "c": ["a"]}, r"column 'x', row 1: \[1, 2\] is not a number"),
        ({"x": 1, "c": {"a": 1}}, r"Row 1 has \{'a': 1\} as a label"),
        ({"x": 1, "c": [["a"]]}, r"Row 1 has \['a'\] as a label"),
        ({"x": 1, "c": ["a", None]}, r"Row 1 has a missing label"),
        ({"x": 1, "c": []}, r"Row 1 has no candidate"),
        ({"x": 1, "c": None}, r"Row 1 has no candidate"),
        ({"x": 1}, r"Row 1 has no candidate"),
        ({"x": 1, "c": ["a", 5]}, r"different types"),
    ],
)
def test_nested_garbage_is_refused(tmp_path, row, message):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"x": 0, "c": ["a"]}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InvalidFileError, match=message):
        read_table(path, candidates="c")


def test_dates_and_bytes_in_parquet_are_no_features(tmp_path):
    path = tmp_path / "t.parquet"
    for values in (pd.to_datetime(["2020-01-01", "2021-01-01"]), [b"\x80\x04", b"\x80\x04"]):
        pd.DataFrame({"x": values, "c": ["a", "b"]}).to_parquet(path)
        with pytest.raises(InvalidFileError, match=r"column 'x', row 0: .* is not a number"):
            read_table(path, candidates="c")


def test_nullable_and_categorical_columns_of_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame(
        {
            "x": pd.array([1, None, 3], dtype="Int64"),
            "z": pd.array([True, None, False], dtype="boolean"),
            "c": pd.Categorical(["a|b", "b", "a"]),
        }
    )
    frame.to_parquet(path)
    data = read_table(path, candidates="c")
    np.testing.assert_array_equal(data.X, [[1, 1], [np.nan, np.nan], [3, 0]])
    assert data.candidates.to_sets() == [{"a", "b"}, {"b"}, {"a"}]


def test_a_hundred_thousand_rows(tmp_path):
    """Correct at that size; how long it takes is for the benchmarks."""
    rng = np.random.default_rng(0)
    n = 100_000
    labels = np.array([f"name{j}" for j in range(50)])
    first, second = labels[rng.integers(0, 50, n)], labels[rng.integers(0, 50, n)]
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("vwxyz"))
    frame["names"] = [f"{a}|{b}" for a, b in zip(first, second, strict=True)]
    path = tmp_path / "large.csv"
    frame.to_csv(path, index=False)
    data = read_table(path, candidates="names")
    np.testing.assert_allclose(data.X, frame[list("vwxyz")].to_numpy(), rtol=1e-11)
    assert data.candidates.covers(first).all()
    assert data.candidates.covers(second).all()
    assert (data.candidates.sizes == 1 + (first != second)).all()
