"""Arrays keep every label, and missing values are recognized."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn._utils.labels import is_missing, kind_of_label, label_array, listed_labels
from ambilearn._utils.text import MISSING_WORDS

LABELS = st.one_of(
    st.text(max_size=3),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.booleans(),
    st.tuples(st.integers(), st.text(max_size=1)),
)


@given(st.lists(LABELS))
def test_every_label_is_kept_unchanged(labels):
    array = label_array(labels)
    assert array.shape == (len(labels),)
    for old, new in zip(labels, array.tolist(), strict=True):
        assert old == new
        assert isinstance(old, str) == isinstance(new, str)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "bb"], "U"),
        ([1, 2], "i"),
        ([1, 2.5], "f"),
        ([1.0, float("nan")], "f"),
        ([True, False], "b"),
        ([2**63, 2**64 - 1], "u"),
        ([2**63, -1], "O"),  # would become floating point
        ([2**63, 2**63 - 1], "O"),  # would become one number
        ([2**53 + 1, 0.5], "O"),
        (["a", "a\0"], "O"),  # would become one text
        (["a\0b", "c"], "U"),
        ([1, "1"], "O"),
        ([True, 1], "O"),
        ([(1, 2), (3, 4)], "O"),
        ([Decimal(1)], "O"),
        ([Fraction(1, 2)], "O"),
        ([], "O"),
    ],
)
def test_numpy_arrays_are_used_if_no_label_changes(labels, kind):
    assert label_array(labels).dtype.kind == kind


def test_array_is_returned_unchanged():
    labels = np.array(["a", "b"])
    assert label_array(labels) is labels
    assert label_array(np.array([[1, 2]])).shape == (1,)


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        (True, "bool"),
        (np.True_, "bool"),
        (3, "number"),
        (np.float32(3), "number"),
        ("3", "string"),
        (b"3", "other"),
        (None, "other"),
        (Decimal(3), "other"),
    ],
)
def test_kinds(label, kind):
    assert kind_of_label(label) == kind


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (5, "not iterable"),
        (np.array(5), "0-d"),
        ("abc", "the string 'abc'"),
        ([[1], [2]], "unhashable"),
        (np.eye(2), "unhashable"),
        ([Decimal("sNaN")], "signaling NaN"),
        ([np.ma.masked], "MaskedConstant"),
    ],
)
def test_invalid_list_of_labels_raises(labels, said):
    with pytest.raises(ValueError, match=f"^classes must be a list of labels, .*{said}"):
        listed_labels(labels, "classes")


@pytest.mark.parametrize("labels", [["a", "b"], ("a", "b"), np.array(["a", "b"]), {"a": 1, "b": 2}])
def test_listed_labels_are_kept_in_order(labels):
    assert listed_labels(labels, "classes").tolist() == ["a", "b"]


@pytest.mark.parametrize("labels", [{"a", "b"}, frozenset("ab")])
def test_a_set_of_all_labels_is_rejected(labels):
    """The order of a set of texts changes from process to process."""
    with pytest.raises(ValueError, match=r"classes must be a list .*got a set, which has no order"):
        listed_labels(labels, "classes")


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
    datetime.datetime(2020, 1, 1),
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


def test_missing_words_apply_only_to_tables():
    assert {"NA", "NaN", "null", "None", "?"} <= MISSING_WORDS
    assert not any(map(is_missing, MISSING_WORDS))
    assert "" not in MISSING_WORDS
