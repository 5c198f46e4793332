import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

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


def test_a_forgotten_truth_is_left_out(people_csv, people):
    """It was a feature: all labels came out right."""
    with pytest.warns(UserWarning, match=r"'truth' agrees .*--truth truth.*--categorical truth"):
        table = read_candidate_table(people_csv, candidates="names")
    assert table.features.left_out["truth"] == "agrees with the labels of the rows"
    named = read_candidate_table(people_csv, candidates="names", truth="truth")
    assert named.features.columns == table.features.columns
    copied = people.assign(**{"a copy": people["truth"]})
    with pytest.warns(
        UserWarning, match=r"'a copy' agrees .* To keep it .*\(--categorical 'a copy'\)"
    ):
        read_candidate_table(copied, candidates="names", truth="truth")
    kept = read_candidate_table(people_csv, candidates="names", categorical="truth")
    assert "truth" in [column.name for column in kept.features.columns]


def test_every_cell_stays_as_it_is(people_csv, people):
    table = read_candidate_table(people_csv, candidates="names")
    pd.testing.assert_frame_equal(table.frame, people, check_dtype=False, check_column_type=False)


def test_features_are_ready_for_a_method():
    table = csv("id,x,z,names\nr1,1,2.5,a|b\nr2,,3,b\nr3,4,1,a\n", exclude="id")
    assert table.X.columns.to_list() == ["x", "z"]
    np.testing.assert_array_equal(table.X.to_numpy(), [[1, 2.5], [np.nan, 3], [4, 1]])
    assert table.X.dtypes.to_list() == [np.float64, np.float64]
    assert table.X is table.X  # parsed once


@pytest.mark.parametrize("option", ["features", "exclude", "categorical"])
def test_one_column_need_not_be_a_list(option):
    text = "xy,z,names\n1,2,a\n2,5,b\n"
    one, several = csv(text, **{option: "xy"}), csv(text, **{option: ["xy"]})
    assert one.features == several.features


def test_truth_that_is_a_word_for_missing_is_not_known():
    text = "x,names,t\n1,a|b,NA\n2,b,null\n3,a,a\n"
    assert csv(text, truth="t").truth == [None, None, "a"]
    text = "x,names,t\n1,NA|b,NA\n2,b,null\n3,b,b\n"
    assert csv(text, truth="t").truth == ["NA", None, "b"]  # a label of this table


@pytest.mark.parametrize("option", ["candidates", "features", "exclude", "categorical"])
def test_columns_that_are_missing_are_named(option):
    with pytest.raises(InvalidFileError, match="no column 'y'"):
        csv("x,names\n1,a\n", **{option: ["y"]})


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
