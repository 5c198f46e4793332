import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from ambilearn._utils.feature_types import as_numbers, check_feature_types, explain_unreadable

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
    ("X", "said"),
    [
        ([[1, 2], [3, "red"]], "Row 1 of X is not a row of numbers .*'red'"),
        ([[1, 2], [3, 10**400]], "Row 1 of X is not a row of numbers .*too large"),
        ([[1, {}], [3, 4]], "Row 0 of X is not a row of numbers .*'dict'"),
        ([[1, 2], [3, [4]]], "Row 1 of X is not a row of numbers"),
        ([[1, 2], [3]], "Row 1 of X has 1 features but row 0 has 2"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "Row 0 of X is not a row of numbers .*'x'"),
        (np.array([["1", "x"]]), "Row 0 of X is not a row of numbers .*'x'"),
    ],
)
@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_error_names_the_row_without_numbers(X, said, kind):
    with pytest.raises(kind, match=said):
        explain_unreadable(X, kind())


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        [[1, np.nan]],
        np.array([[1j]]),
        pd.DataFrame({"a": pd.array([1, None], dtype="Float64")}),
        np.ones((2, 2, 2)),
        sparse.csr_array(np.eye(2)),
        [],
    ],
)
def test_readable_rows_raise_nothing(X):
    explain_unreadable(X, ValueError())


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
