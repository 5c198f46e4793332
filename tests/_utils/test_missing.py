import subprocess
import sys
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ambilearn._utils.missing import MISSING_WORDS, is_missing

MISSING = [
    None,
    float("nan"),
    np.nan,
    np.float32("nan"),
    np.float16("nan"),
    complex("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),  # which cannot even be compared
    np.ma.masked,
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
    pd.NaT,
    pd.NA,
]
PRESENT = [
    0,
    0.0,
    False,
    np.False_,
    np.int8(0),
    float("inf"),
    Decimal(0),
    Fraction(1, 3),
    np.datetime64("2020-01-01"),
    datetime(2020, 1, 1),
    pd.Timestamp("2020-01-01"),
    "",
    "nan",
    np.str_("NaN"),
    b"",
    (),
    [],
    [None],
    {},
    np.array([np.nan, 1.0]),
    np.array([]),
    object(),
]


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing(value):
    assert is_missing(value) is True


@pytest.mark.parametrize("value", PRESENT, ids=lambda value: type(value).__name__)
def test_not_missing(value):
    assert is_missing(value) is False


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "string", "datetime64[ns]"])
def test_cells_of_nullable_columns(dtype):
    cells = pd.Series([None], dtype=dtype).to_list()
    assert is_missing(cells[0])


def test_missing_words_apply_only_to_tables():
    assert {"NA", "NaN", "null", "None", "?"} <= MISSING_WORDS
    assert not any(map(is_missing, MISSING_WORDS))
    assert "" not in MISSING_WORDS


def test_pandas_is_not_needed():
    code = "import sys, ambilearn._utils.missing; print('pandas' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr
