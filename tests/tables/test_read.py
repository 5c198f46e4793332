import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ambilearn import PLKNN
from ambilearn.datasets import InvalidFileError
from ambilearn.tables import read_candidate_table
from ambilearn.tables.writing import append_columns


def csv(text, **options):
    return read_candidate_table(
        io.StringIO(text), **({"candidates": "names", "format": "csv"} | options)
    )


def test_roles_of_columns(people_csv, people):
    table = read_candidate_table(people_csv, candidates="names", truth="truth", exclude=["member"])
    assert [(column.name, column.kind) for column in table.features.columns] == [
        ("height", "number"),
        ("weight", "number"),
        ("town", "category"),
        ("born", "date"),
    ]
    assert table.features.left_out == {"id": "is text with 60 different values in 60 rows"}
    assert table.truth == people["truth"].to_list()
    assert table.texts == people["names"].to_list()
    assert table.candidates.to_sets() == [set(text.split("|")) for text in people["names"]]
    assert repr(table) == f"<CandidateTable {people_csv}: 60 rows, 4 features, 3 labels>"


def test_one_of_each_in_the_repr():
    table = csv("x,names\n1,a\n2,a\n")
    assert repr(table) == "<CandidateTable table: 2 rows, 1 feature, 1 label>"


def test_every_cell_stays_as_it_is(people_csv, people):
    table = read_candidate_table(people_csv, candidates="names")
    pd.testing.assert_frame_equal(table.frame, people, check_dtype=False, check_column_type=False)
    odd = csv('x,,names\n007,"a ""b"", c",p|q\n1.0,NA,q\n , ,p\n')
    assert odd.frame.to_numpy().tolist() == [
        ["007", 'a "b", c', "p|q"],
        ["1.0", "NA", "q"],
        [" ", " ", "p"],
    ]
    assert list(odd.frame) == ["x", "", "names"]


def test_a_frame_in_memory(people):
    table = read_candidate_table(people, candidates="names", exclude=["truth"])
    assert table.frame is people
    assert table.name == "table"


def test_features_that_are_named(people_csv):
    table = read_candidate_table(people_csv, candidates="names", features=["town", "id"])
    assert [column.name for column in table.features.columns] == ["town", "id"]


def test_lists_and_several_annotators():
    rows = [
        {"x": 1, "a": ["p", "q"], "b": "q", "c": None},
        {"x": 2, "a": [], "b": "r", "c": "r"},
        {"x": 3, "a": ["p"], "b": None, "c": ""},
    ]
    file = io.StringIO("\n".join(map(json.dumps, rows)))
    table = read_candidate_table(file, candidates=["a", "b", "c"], format="jsonl")
    assert table.candidates.to_sets() == [{"p", "q"}, {"r"}, {"p"}]
    assert table.texts == ["p|q|q", "r|r", "p"]
    file.seek(0)
    table = read_candidate_table(
        file, candidates=["a", "b", "c"], min_votes=2, fallback="union", format="jsonl"
    )
    assert table.candidates.to_sets() == [{"q"}, {"r"}, {"p"}]  # nobody has two: all count


def test_features_are_ready_for_a_method():
    table = csv("id,x,z,names\nr1,1,2.5,a|b\nr2,,3,b\nr3,4,1,a\n", exclude="id")
    assert table.X.columns.to_list() == ["x", "z"]
    np.testing.assert_array_equal(table.X.to_numpy(), [[1, 2.5], [np.nan, 3], [4, 1]])
    assert table.X.dtypes.to_list() == [np.float64, np.float64]
    assert table.X is table.X  # parsed once


def test_a_method_takes_features_and_candidates():
    table = csv("x,z,names\n1,1,a|b\n2,1,a\n8,7,b\n9,8,b|a\n")
    model = PLKNN(n_neighbors=1).fit(table.X, table.candidates)
    assert model.transduction_.tolist() == ["a", "a", "b", "b"]


@pytest.mark.parametrize("option", ["features", "exclude", "categorical"])
def test_one_column_need_not_be_a_list(option):
    text = "xy,z,names\n1,2,a\n2,5,b\n"
    one, several = csv(text, **{option: "xy"}), csv(text, **{option: ["xy"]})
    assert one.features == several.features


@pytest.mark.slow
def test_a_hundred_thousand_rows(tmp_path):
    """Correct at that size; how long it takes is for the benchmarks."""
    rng = np.random.default_rng(0)
    n = 100_000
    labels = np.array([f"name{j}" for j in range(50)])
    first, second = labels[rng.integers(0, 50, n)], labels[rng.integers(0, 50, n)]
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("xyz"))
    frame["names"] = [f"{a}|{b}" for a, b in zip(first, second, strict=True)]
    path = tmp_path / "large.csv"
    frame.to_csv(path, index=False)
    table = read_candidate_table(path, candidates="names")
    pd.testing.assert_frame_equal(table.X, frame[list("xyz")], check_column_type=False, rtol=0)
    assert table.candidates.covers(first).all()
    assert table.candidates.covers(second).all()
    assert (table.candidates.sizes == 1 + (first != second)).all()


def test_truth_may_be_known_in_part():
    assert csv("x,names,t\n1,a|b,a\n2,b,\n3,a,zoe\n", truth="t").truth == ["a", None, "zoe"]


def test_truth_that_is_a_word_for_missing_is_not_known():
    text = "x,names,t\n1,a|b,NA\n2,b,null\n3,a,a\n"
    assert csv(text, truth="t").truth == [None, None, "a"]
    text = "x,names,t\n1,NA|b,NA\n2,b,null\n3,b,b\n"
    assert csv(text, truth="t").truth == ["NA", None, "b"]  # a label of this table


def test_numbers_as_labels_of_json():
    file = io.StringIO('{"x": 1, "names": [3, 1], "t": 3}\n{"x": 2, "names": [2], "t": null}\n')
    table = read_candidate_table(file, candidates="names", truth="t", format="jsonl")
    assert table.candidates.classes.tolist() == [1, 2, 3]
    assert table.truth == [3, None]
    assert table.texts == ["3|1", "2"]


def test_corrections_are_applied():
    corrections = io.StringIO("row,candidates,label\n0,a|b,b\n2,b|c,zoe\n")
    table = csv("x,names\n1,a|b\n2,a\n3,b|c\n", checked=corrections)
    assert table.candidates.to_sets() == [{"b"}, {"a"}, {"zoe"}]
    assert table.texts == ["a|b", "a", "b|c"]
    assert table.corrections.labels == {0: "b", 2: "zoe"}
    assert table.corrections.new_labels == ["zoe"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x;names\n1;a\n", {}, r"no column 'names'.*separated by ';'.*x;names"),
        ("x,names\n1,a\n", {"exclude": ["y"]}, r"no column 'y'"),
        ("x,names\n1,a\n", {"features": ["y"]}, r"no column 'y'"),
        ("x,names\n1,a\n", {"truth": "y"}, r"no column 'y'"),
        ("x,x,names\n1,2,a\n", {}, r"'x' occurs more than once"),
    ],
)
def test_errors(text, options, message):
    with pytest.raises(InvalidFileError, match=message) as caught:
        csv(text, **options)
    assert "\n" not in str(caught.value)


def test_new_columns_need_new_names():
    frame = pd.DataFrame({"x": [1], "label": [2]})
    with pytest.raises(InvalidFileError, match=r"t.csv has a column 'label' already.*--prefix"):
        append_columns("t.csv", frame, {"label": [3]})
    assert list(append_columns("t.csv", frame, {"my_label": [3]})) == ["x", "label", "my_label"]
    assert list(frame) == ["x", "label"]


def test_candidates_are_not_the_known_labels():
    with pytest.raises(ValueError, match=r"'who' has the candidates"):
        read_candidate_table(
            pd.DataFrame({"x": [1, 2], "who": ["a|b", "b"]}), candidates="who", truth="who"
        )


@pytest.mark.parametrize("prefix", ["", "a_"])
@pytest.mark.parametrize("more", [[], ["doubt", "suggestion", "review_rank"]])
def test_columns_of_an_earlier_result_are_no_features(prefix, more):
    frame = pd.DataFrame({"x": range(1, 9), "names": ["p", "q"] * 4, "my_score": range(8)})
    for name in ["label", "score", "confidence", *more]:
        frame[f"{prefix}{name}"] = [0.5, 0.25] * 4
    table = read_candidate_table(frame[frame.columns[::-1]], candidates="names")
    assert {column.name for column in table.features.columns} <= {"x", "my_score"}
    assert table.features.left_out[f"{prefix}score"] == "was written by ambilearn"


def test_categorical_columns_are_among_the_named_features():
    frame = pd.DataFrame({"x": range(8), "y": range(8), "names": ["p", "q"] * 4})
    with pytest.raises(ValueError, match="Column 'y' is categorical, but not among the named"):
        read_candidate_table(frame, candidates="names", features=["x"], categorical=["y"])


def test_equal_columns_of_a_data_frame():
    frame = pd.DataFrame([[1, 2, "p"], [3, 4, "q"]], columns=["x", "x", "names"])
    with pytest.raises(InvalidFileError, match="table: the column 'x' occurs more than once"):
        read_candidate_table(frame, candidates="names")


def test_column_names_are_text():
    """Those of ``pandas.DataFrame(array)`` are numbers, which scikit-learn takes for positions."""
    frame = pd.DataFrame([[1.0, 5.0], [2.0, 3.0]]).assign(names=["a", "b"])
    with pytest.raises(InvalidFileError, match="table: the column name 0 is not text"):
        read_candidate_table(frame, candidates="names", features=[1])
    table = read_candidate_table(frame.rename(columns=str), candidates="names")
    assert [column.name for column in table.features.columns] == ["0", "1"]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_tables_of_other_libraries(make):
    columns = {"x": [1, 2], "names": ["a", "b"]}
    message = r"table is of type (polars\.DataFrame|pyarrow\.Table): .* to_pandas\(\)"
    with pytest.raises(TypeError, match=message):
        read_candidate_table(make(columns), candidates="names")


def test_the_column_of_candidates_cannot_be_a_feature():
    """It was left out without a word."""
    with pytest.raises(ValueError, match=r"'names' has the candidates .* cannot be a feature"):
        csv("x,names\n1,a\n2,b\n", features=["names"])
