"""Candidate sets in unusual forms: read correctly, or rejected with a clear error."""

import collections
import datetime
import traceback
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambilearn.backend import HOST
from ambilearn.candidates import ANYTHING, AllBut, CandidateSets, as_candidates

MASK = np.array([[1, 0], [1, 1], [0, 1]])
WEIGHTS = [{"a": 1.0, "b": 3.0}, {"b": 2.0}]
MAPS = pa.array(WEIGHTS, pa.map_(pa.string(), pa.float64()))


def objects(*values):
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def itself():
    endless = [{1}]
    endless.append(endless)
    return endless


READ = {
    "Decimal labels": ([Decimal(1), Decimal("2.5")], [{Decimal(1)}, {Decimal("2.5")}]),
    "Decimal table": (np.array([[Decimal("0.5"), Decimal(1)]]), [{0: 0.5, 1: 1.0}]),
    "memoryview of labels": (memoryview(np.array([3, 5])), [{3}, {5}]),
    "NUL at the end, in sets": ([{"a"}, {"a\0", "a"}], [{"a"}, {"a\0", "a"}]),
    "NUL at the end, columns": (
        pd.DataFrame([[1, 0], [1, 1]], columns=["a", "a\0"]),
        [{"a"}, {"a", "a\0"}],
    ),
    "integers beside each other": ([2**63, 2**63 - 1], [{2**63}, {2**63 - 1}]),
    "integers of 400 digits": ([10**400, 1], [{10**400}, {1}]),
    "dates": (
        [datetime.date(2024, 2, 29), datetime.date(2023, 1, 1)],
        [{datetime.date(2024, 2, 29)}, {datetime.date(2023, 1, 1)}],
    ),
    "datetimes of pandas": (
        pd.Series(pd.to_datetime(["2024-02-29", "2023-01-01"])),
        [{pd.Timestamp("2024-02-29")}, {pd.Timestamp("2023-01-01")}],
    ),
    "column of objects, some sets": (objects("a", {"a", "b"})[:, None], [{"a"}, {"a", "b"}]),
    "StringDType": (np.array(["a", "b"], dtype=np.dtypes.StringDType()), [{"a"}, {"b"}]),
    "table of pyarrow": (pa.table({"a": [1, 0], "b": [1, 1]}), [{"a", "b"}, {"b"}]),
    "column of pyarrow": (pa.table({"y": [["a", "b"], ["b"]]}), [{"a", "b"}, {"b"}]),
    "lists of pyarrow": (pa.array([["a", "b"], ["b"]]), [{"a", "b"}, {"b"}]),
    "maps of pyarrow": (MAPS, WEIGHTS),
    "column of maps": (pa.table({"y": MAPS}), WEIGHTS),
    "maps in pandas": (pd.Series(pd.arrays.ArrowExtensionArray(MAPS)), WEIGHTS),
    "structs of polars": (pl.Series(2 * WEIGHTS[:1]), 2 * WEIGHTS[:1]),
    "structs with missing fields": (pl.Series(WEIGHTS), WEIGHTS),
    "structs of pyarrow": (pa.array(WEIGHTS), WEIGHTS),
    "column of structs": (pl.DataFrame({"y": 2 * WEIGHTS[:1]}), 2 * WEIGHTS[:1]),
    "categorical": (pd.Categorical(["b", "a"], categories=["b", "a", "z"]), [{"b"}, {"a"}]),
    "nullable integers": (pd.array([2, 1], dtype="Int64"), [{2}, {1}]),
    "masked array without a mask": (np.ma.array([3, 5]), [{3}, {5}]),
    "half precision": (np.array([[0.5, 1]], dtype=np.float16), [{0: 0.5, 1: 1.0}]),
    "minus zero": (np.array([[-0.0, 1.0]]), [{1}]),
    "extreme weights": (np.array([[5e-324, 1.7e308]]), [{0: 5e-324, 1: 1.7e308}]),
    "Counter": ([collections.Counter("aab")], [{"a": 2.0, "b": 1.0}]),
}


@pytest.mark.parametrize("form", READ)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_forms_are_read_as_intended(form):
    y, meant = READ[form]
    assert list(as_candidates(y)) == meant


REJECTED = {
    "signalling NaN": ([Decimal("sNaN"), Decimal(1)], "row 0 is Decimal.'sNaN'"),
    "signalling NaN in a set": ([[Decimal(1)], [Decimal("sNaN")]], "row 1 contains NaN"),
    "signalling NaN in a table": (np.array([[Decimal("sNaN"), 1]]), "contains NaN: row 0"),
    "signalling NaN in lists": ([[Decimal("sNaN"), 1], [1, 0]], "row 0 contains NaN"),
    "integer of 400 digits in a table": (np.array([[10**400, 1]], object), r"row 0 has .* 1000.*…"),
    "weight of 400 digits": ([{"a": 10**400}], r"the weight 1000.*…: weights must be finite"),
    "complex table": (MASK * (1 + 1j), "neither a mask nor a table of weights"),
    "complex labels": (np.array([1j, 2]), "[Cc]omplex"),
    "table of times": (np.array([["2024-02-29"] * 2], dtype="M8[D]"), "neither a mask nor"),
    "records": (np.zeros(3, dtype="i4,f4"), "an array of records"),
    "no dimension": (np.array(3), "an array of 0 dimensions"),
    "empty objects": (np.empty(0, dtype=object), "y has no rows"),
    "empty list": ([], "y has no rows"),
    "mask of a mask": (np.ma.array(MASK, mask=MASK), "4 of 6 entries masked"),
    "masked label": ([np.ma.masked, 1], "label of row 0 is masked"),
    "list in itself": (itself(), "Row 1 has a candidate that cannot be a label"),
    "sets as labels": ([{frozenset("a")}, {frozenset("b")}], "cannot be sorted .*have no order"),
    "generator": ((x for x in [{1}]), "got generator"),
    "integers and floating point beyond each other": ([10**400, np.float32(0)], "cannot be sorted"),
    "NaN in tuples": ([{(1, 0), (1, Decimal("NaN"))}], "cannot be sorted"),
    "functions": ([len, max], "cannot be sorted"),
    "missing category": (pd.Categorical(["a", None]), "row 1 is nan"),
    "missing map": (pa.array([[("a", 1)], None], MAPS.type), r"row 1 .* \(None\)"),
    "missing in a table of pyarrow": (pa.table({"a": [1, None], "b": [1, 1]}), "row 1 has .* nan"),
    "missing integer": (pd.DataFrame({"a": pd.array([1, None]), "b": [1, 1]}), "row 1 has .* <NA>"),
}


@pytest.mark.parametrize("form", REJECTED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_rejected_forms_raise_a_clear_error(form):
    y, said = REJECTED[form]
    with pytest.raises(ValueError, match=said):
        as_candidates(y)


ODD_LABELS = st.one_of(
    st.text(alphabet="ab\0|", max_size=2),
    st.integers(-3, 3),
    st.sampled_from([2**63, 2**63 - 1, 10**400, -(2**70)]),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(max_size=2),
    st.complex_numbers(max_magnitude=2),
    st.decimals(places=1),
    st.dates(),
    st.just(np.ma.masked),
    st.just(pd.NA),
    st.just(ANYTHING),
    st.just(np.array(1)),
    st.builds(np.float32, st.floats(width=32)),
    st.builds(np.datetime64, st.dates()),
)
ODD_ROWS = st.recursive(
    ODD_LABELS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.lists(ODD_LABELS.filter(lambda label: isinstance(label, (str, int))), max_size=3).map(
            set
        ),
        st.dictionaries(st.text(max_size=1), inner, max_size=2),
        st.lists(inner, max_size=2).map(lambda row: objects(*row)),
        st.builds(AllBut, inner),
    ),
    max_leaves=6,
)
WAYS = st.sampled_from(
    [list, tuple, lambda y: objects(*y), lambda y: pd.Series(objects(*y)), collections.deque]
)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(ODD_ROWS, max_size=4), WAYS)
def test_any_bytes_are_read_or_rejected(rows, way):
    assert_read_or_rejected(way(rows), len(rows))


CELLS = st.one_of(ODD_LABELS, st.sampled_from([0, 1, 0.5]))


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1)
    )
)
def test_any_table_is_read_or_rejected(rows):
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            table[i, j] = cell
    # With its columns made one by one: pandas 2 takes no table with a number beyond all floats.
    frame = pd.DataFrame(
        {j: pd.Series(list(table[:, j]), dtype=object) for j in range(len(rows[0]))}
    )
    for form in (table, frame):
        assert_read_or_rejected(form, len(rows))


def assert_read_or_rejected(y, n_rows):
    warnings.simplefilter("ignore")
    try:
        sets = as_candidates(y)
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said_by_us = "ambilearn" in last.filename or "sklearn" in last.filename
        if not (said_by_us and last.line.startswith(("raise", "_raise"))):
            raise
        return
    assert isinstance(sets, CandidateSets)
    assert len(sets) == n_rows
    assert (sets.sizes > 0).all()
    assert len(set(sets.classes.tolist())) == len(sets.classes)
    pairs = HOST.support(sets)
    np.testing.assert_allclose(pairs.row_sums(pairs.prior()), 1)
