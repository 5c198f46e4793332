import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ambilearn._utils.data_frames import column_names


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_have_names(make):
    assert column_names(make({"b": [1, 2], "a": [3, 4]})) == ["b", "a"]


def test_a_column_of_pandas_may_have_the_name_of_an_attribute():
    """An attribute of the table is then a column."""
    assert column_names(pd.DataFrame({"column_names": [1], "a": [2]})) == ["column_names", "a"]


@pytest.mark.parametrize("table", [np.eye(2), [[1, 2]], pd.Series([1]), None])
def test_other_tables_have_none(table):
    assert column_names(table) is None
