import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from ambilearn import as_candidates

MASK = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])
SETS = [{"anna", "bob"}, {"bob"}, {"anna", "cleo"}]
NAMES = ["anna", "bob", "cleo"]

FORMS_OF_SETS = {
    "list of sets": SETS,
    "tuple of frozensets": tuple(map(frozenset, SETS)),
    "list of lists": [sorted(s) for s in SETS],
    "lists with repeats": [sorted(s) * 2 for s in SETS],
    "list of tuples": [tuple(s) for s in SETS],
    "list of arrays": [np.array(sorted(s)) for s in SETS],
    "bare label among sets": [SETS[0], "bob", SETS[2]],
    "object array": np.array([*SETS, None], dtype=object)[:3],
    "pandas Series": pd.Series(SETS, index=[7, 3, 5]),
    "polars Series": pl.Series([sorted(s) for s in SETS]),
    "pandas mask": pd.DataFrame(MASK, columns=NAMES),
    "pandas bool mask": pd.DataFrame(MASK.astype(bool), columns=NAMES),
    "polars mask": pl.DataFrame(MASK, schema=NAMES),
}


@pytest.mark.parametrize("form", FORMS_OF_SETS)
def test_every_named_form_gives_the_same_sets(form):
    sets = as_candidates(FORMS_OF_SETS[form])
    np.testing.assert_array_equal(sets.to_mask(), MASK)
    assert sets.classes.tolist() == NAMES
    assert sets.to_sets() == SETS


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([3, 1, 3]), [1, 3]),
        (np.array(["b", "a", "b"]), ["a", "b"]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
        (["b", "a", "b"], ["a", "b"]),
        ([2.0, 1.0, 2.0], [1.0, 2.0]),
        ([True, False, True], [False, True]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        (pl.Series([5, 4, 5]), [4, 5]),
    ],
)
def test_one_dimensional_labels_are_singletons(labels, classes):
    sets = as_candidates(labels)
    assert sets.classes.tolist() == classes
    assert sets.to_sets() == [{classes[1]}, {classes[0]}, {classes[1]}]


def test_a_column_of_labels_warns_and_is_read_as_labels():
    with pytest.warns(DataConversionWarning):
        assert as_candidates(np.array([[4], [2]])).to_sets() == [{4}, {2}]
    with pytest.warns(DataConversionWarning):
        assert as_candidates(pd.DataFrame({"who": ["x", "y"]})).to_sets() == [{"x"}, {"y"}]
    with pytest.warns(DataConversionWarning):
        assert as_candidates(pd.DataFrame({"who": [1, 0]})).to_sets() == [{1}, {0}]


def test_a_column_of_label_collections():
    sets = [{"x", "y"}, {"y"}]
    assert as_candidates(pd.DataFrame({"who": sets})).to_sets() == sets


@pytest.mark.parametrize(
    "y", [[[1, 0, 1], [0, 1, 0]], [(1, 0), (0, 1)], [[True, False], [True, True]]]
)
def test_a_mask_written_as_lists_is_rejected(y):
    with pytest.raises(ValueError, match="looks like a mask"):
        as_candidates(y)
    assert len(as_candidates(np.asarray(y))) == 2


def test_lists_of_zero_and_one_that_are_not_a_mask():
    assert as_candidates([[0], [1]]).to_sets() == [{0}, {1}]
    assert as_candidates([[0, 1], [1]]).to_sets() == [{0, 1}, {1}]
    assert as_candidates([{0, 1}, {0, 1}]).to_sets() == [{0, 1}, {0, 1}]


@pytest.mark.parametrize(
    "labels",
    [
        [10, 2, 33],
        ["x", "", "ü"],
        [datetime.date(2020, 1, 2), datetime.date(2019, 5, 5), datetime.date(2021, 1, 1)],
        [1.5, -2.0, 0.0],
        [(1, 2), (0, 5), (3,)],
    ],
)
def test_any_sortable_labels_keep_their_type_and_order(labels):
    sets = as_candidates([{labels[0], labels[1]}, {labels[2]}])
    assert sets.classes.tolist() == sorted(labels)
    assert [type(c) for c in sets.classes.tolist()] == [type(c) for c in sorted(labels)]
    assert sets.to_sets() == [{labels[0], labels[1]}, {labels[2]}]


def test_numbers_and_strings_are_not_silently_merged():
    with pytest.raises(ValueError, match="cannot be sorted"):
        as_candidates([{1, "1"}, {"1"}])


def test_given_classes_fix_the_order_and_may_be_unused():
    sets = as_candidates([{"b"}, {"a"}], classes=["c", "b", "a"])
    np.testing.assert_array_equal(sets.to_mask(), [[0, 1, 0], [0, 0, 1]])
    frame = pd.DataFrame({"b": [1, 0], "a": [0, 1]})
    ordered = as_candidates(frame, classes=["c", "b", "a"])
    np.testing.assert_array_equal(ordered.to_mask(), sets.to_mask())
    assert as_candidates(np.array(["b", "a"]), classes=["c", "b", "a"]).to_sets() == [{"b"}, {"a"}]
    mask = as_candidates(MASK, classes=["x", "y", "z"])
    assert mask.to_sets() == [{"x", "y"}, {"y"}, {"x", "z"}]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([{1}, set(), {2}], "row 1 is empty"),
        ([[1], [2], []], "row 2 is empty"),
        (np.array([[1, 0], [0, 0]]), "row 1 is empty"),
        (sparse.csr_array([[0, 0], [1, 0]]), "row 0 is empty"),
        ([{1.0}, {float("nan")}], "row 1 contains NaN"),
        ([{"a"}, {None}], "row 1 contains NaN"),
        ([{"a"}, [pd.NA, "a"]], "row 1 contains NaN"),
        ([{"a"}, None], "row 1 contains NaN"),
        (pd.Series(["a", None, "b"], dtype=object), "row 1"),
        (np.array([1.0, 2.0, np.nan]), "row 2 is nan"),
        (np.array([[1, 0], [-2, 1]]), "row 1 has the value -2"),
        (np.array([[1, 0], [0.5, np.inf]]), "row 1 has the value inf"),
        (np.array([[1, 0], [np.nan, 1]]), "contains NaN: row 1"),
        (np.array([["a", "b"], ["a", "c"]]), "neither a mask nor a table of weights: row 0"),
        (pd.DataFrame({"a": [1, pd.NA], "b": [0, 1]}), "contains NaN: row 1"),
        (sparse.csr_array([[1, 0], [0, -3]]), "row 1 has the value"),
        (sparse.csr_array([[1, 0], [0, np.nan]]), "row 1 has the value"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ("ab", "got str"),
        (7, "got int"),
        ([[["deep"]], [["er"]]], "cannot be a label"),
        (np.array([0.1, 0.2, 0.35]), "Unknown label type"),
        (pd.DataFrame([[1, 0], [0, 1]], columns=["a", "a"]), "'a' is listed more than once"),
    ],
)
def test_bad_input_names_the_row_and_the_fault(y, message):
    with pytest.raises(ValueError, match=message):
        as_candidates(y)


@pytest.mark.parametrize("y", [[{"a"}, {"z"}], np.array(["a", "z"])])
def test_label_outside_the_classes_names_row_and_label(y):
    with pytest.raises(ValueError, match="Row 1 has the candidate label 'z'"):
        as_candidates(y, classes=["a", "b"])


@given(st.lists(st.sets(st.integers(-5, 20), min_size=1), min_size=1))
def test_round_trip_through_sets_and_masks(rows):
    sets = as_candidates(rows)
    assert sets.to_sets() == rows
    assert sets.classes.tolist() == sorted(set().union(*rows))
    for form in (sets.to_mask(), sets.to_sparse()):
        if len(sets.classes) > 1:
            assert as_candidates(form, classes=sets.classes).to_sets() == rows
    assert as_candidates(sets) is sets


def test_covers():
    sets = as_candidates(SETS)
    np.testing.assert_array_equal(sets.covers(["anna", "anna", "cleo"]), [True, False, True])
    np.testing.assert_array_equal(sets.covers(["nobody", "bob", "bob"]), [False, True, False])


@pytest.mark.parametrize("form", ["list of sets", "list of dictionaries"])
def test_candidate_sets_are_reordered_to_the_given_classes(form):
    rows = SETS if form == "list of sets" else [{"bob": 1, "anna": 3}, {"bob": 2}, {"cleo": 0.5}]
    classes = ["dora", "cleo", "bob", "anna"]
    found = as_candidates(as_candidates(rows), classes=classes)
    expected = as_candidates(rows, classes=classes)
    for name in ("classes", "indptr", "labels", "weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.classes.tolist() == classes


def test_candidate_sets_keep_their_row_weights_and_form_in_another_order():
    sets = replace(as_candidates(sparse.csr_array(MASK)), row_weights=np.array([1.0, 2.0, 3.0]))
    found = as_candidates(sets, classes=[2, 1, 0, 7])
    assert found.sparse_mask
    assert found.row_weights.tolist() == [1, 2, 3]
    assert as_candidates(sets) is sets


def test_a_label_outside_the_classes_is_rejected_in_candidate_sets_as_in_lists():
    messages = []
    for y in (SETS, as_candidates(SETS)):
        with pytest.raises(ValueError, match=r"^Row 2 has the candidate label 'cleo'") as caught:
            as_candidates(y, classes=["anna", "bob"])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    with pytest.raises(ValueError, match="'bob' is listed more than once"):
        as_candidates(as_candidates(SETS), classes=["anna", "bob", "bob", "cleo"])


def test_equal_columns_of_a_data_frame_are_rejected():
    frame = pd.DataFrame([[1, 1, 0], [0, 1, 1]], columns=["a", "b", "a"])
    for classes in (None, ["a", "b"]):
        with pytest.raises(ValueError, match="class 'a' is listed more than once"):
            as_candidates(frame, classes=classes)
