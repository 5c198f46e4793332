"""Features, scores and weights that are no numbers, or whose structure is wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from ambilearn._utils.array_checks import (
    as_numbers,
    check_feature_types,
    check_structure,
    column_names,
)

DAYS = np.array([["2024-02-28"], ["NaT"]], dtype="datetime64[D]")


@pytest.mark.parametrize(
    "X",
    [
        DAYS,
        DAYS - DAYS[0],
        pd.DataFrame({"day": DAYS[:, 0].astype("datetime64[ns]"), "x": [1.0, 2.0]}),
        pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"]).tz_localize("UTC")}),
        pl.DataFrame({"day": DAYS[:, 0]}),
        pl.DataFrame({"span": (DAYS - DAYS[0])[:, 0].astype("timedelta64[us]")}),
    ],
)
def test_times_are_rejected(X):
    with pytest.raises(ValueError, match=r"^X contains times \(.*\), .* convert them"):
        check_feature_types(X)


@pytest.mark.parametrize(
    ("X", "what"),
    [({0: [1.0], 1: [2.0]}, "a mapping"), (np.zeros(3, dtype="f8,f8"), "an array of records")],
)
def test_mappings_and_records_are_rejected(X, what):
    with pytest.raises(TypeError, match=f"^X is {what}: pass a data frame or an array of numbers"):
        check_feature_types(X)


@pytest.mark.parametrize(
    "X",
    [
        np.eye(2),
        np.eye(2, dtype=np.float16),
        [[1, 2]],
        pd.DataFrame({"date": [1.0], "time": [2.0], "names": [3.0]}),  # names are no types
        pl.DataFrame({"a": [1]}),
        sparse.csr_array(np.eye(2)),
        pd.Series([1.0]),
        None,
    ],
)
def test_numbers_pass(X):
    check_feature_types(X)


@pytest.mark.parametrize(
    "values", ["many", ["a"], [{}], [1j], [10**400], [[1], [2, 3]], DAYS, [pd.NA]]
)
def test_values_that_are_not_numbers_raise(values):
    with pytest.raises(ValueError, match=r"^weights must be numbers \("):
        as_numbers(values, "weights")


def test_numbers_of_every_type_are_float64():
    for values in ([1, 2], np.array([1, 2], dtype=np.float16), ["1", "2"], pd.Series([1, 2])):
        found = as_numbers(values, "weights")
        assert found.dtype == np.float64
        assert found.tolist() == [1, 2]


@pytest.mark.parametrize("form", [sparse.dok_array, sparse.dok_matrix])
def test_dok_matrix_is_not_rejected_as_mapping(form):
    check_feature_types(form(np.eye(3)))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.ma.array([1, 2, 3], mask=[0, 1, 1]), r"2 of 3 entries masked, the first at \[1\]"),
        (np.ma.array(np.eye(2), mask=[[0, 0], [1, 0]]), r"1 of 4 .* the first at \[1, 0\]"),
        (np.ma.masked, "1 of 1 entries masked"),
        ([np.ones(2), np.ma.array([1, 2], mask=[0, 1])], r"^Row 1 of X .* 1 of 2 .* at \[1\]"),
    ],
)
def test_masked_entries_are_rejected(values, said):
    with pytest.raises(ValueError, match=said + ".* Drop such rows or fill them"):
        check_structure(values, "X")


@pytest.mark.parametrize(
    "values", [np.ma.array([1, 2]), [np.ma.array([1, 2])], np.eye(2), "text", None, [{1}, {2}], []]
)
def test_other_inputs_are_accepted(values):
    check_structure(values, "X")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_have_names(make):
    assert column_names(make({"b": [1, 2], "a": [3, 4]})) == ["b", "a"]


def test_a_column_of_pandas_may_have_the_name_of_an_attribute():
    """An attribute of the table is then a column."""
    assert column_names(pd.DataFrame({"column_names": [1], "a": [2]})) == ["column_names", "a"]


@pytest.mark.parametrize("table", [np.eye(2), [[1, 2]], pd.Series([1]), None])
def test_other_tables_have_none(table):
    assert column_names(table) is None
