"""Rows as sets, dictionaries with weights, single labels and excluded labels."""

import pickle
import warnings

import numpy as np
import pytest

from ambilearn.candidates import ANYTHING, AllBut, as_candidates


def test_a_label_with_weight_zero_is_not_a_candidate():
    assert as_candidates([{"a": 1, "b": 0}, {"b": 2}]).weights is None
    assert as_candidates([{"a": 1, "b": 0}, {"b": 2}]).to_sets() == [{"a"}, {"b"}]


def test_all_kinds_of_rows_can_be_mixed():
    rows = [{"cat", "dog"}, "emu", AllBut("dog"), ANYTHING, {"cat": 0.7, "dog": 0.3}, ["fox"]]
    everything = {"cat", "dog", "emu", "fox"}
    sets = as_candidates(rows)
    expected = [{"cat", "dog"}, {"emu"}, everything - {"dog"}, everything, {"cat", "dog"}, {"fox"}]
    assert sets.to_sets() == expected
    assert sets[4] == {"cat": 0.7, "dog": 0.3}
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    assert as_candidates(array).to_sets() == expected


def test_an_excluded_label_may_be_a_candidate_in_no_row():
    with pytest.warns(
        UserWarning, match="Row 1 excludes the label 'b', which is a candidate in no row"
    ):
        assert as_candidates([{"a"}, AllBut("b")]).classes.tolist() == ["a", "b"]
    assert as_candidates([ANYTHING, "a"], classes=["a", "b"]).to_sets() == [{"a", "b"}, {"a"}]


def test_an_excluded_label_without_candidate_warns_once():
    rows = ["cat", {"dog": 1.0, "emu": 2.0}, AllBut("cat", "zzz"), AllBut("yyy"), ANYTHING]
    with pytest.warns(UserWarning, match="Row 2 excludes the label 'zzz'.*classes=") as caught:
        as_candidates(rows)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("rows", "classes"),
    [
        ([AllBut("a"), AllBut("b"), AllBut("c"), ANYTHING], None),  # complementary labels
        (["a", "b", AllBut("a"), ANYTHING], None),
        (["a", "b", AllBut("c")], ["a", "b", "c"]),
    ],
)
def test_excluded_labels_without_a_warning(rows, classes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_candidates(rows, classes=classes)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1.0}, {"a": -0.5, "b": 1}], r"Row 1 gives the label 'a' the weight -0.5.*negative"),
        ([{"a": float("nan")}], "Row 0 gives the label 'a' the weight nan"),
        ([{"a": 10**400, "b": 1}], "Row 0 gives the label 'a' the weight 1000"),
        ([ANYTHING, ANYTHING], "No row names a label.*classes="),
        (["a", {ANYTHING}], r"Row 1 has AllBut\(\) inside a set"),
        ([{"a": "much"}], "Row 0 gives the label 'a' the weight 'much'"),
        ([{"a": 1}, {"a": 0, "b": 0}], "row 1 is empty"),
        ([{"a"}, {}], "row 1 is empty"),
        (["a", AllBut("a")], r"row 1 is empty \(AllBut\('a'\) leaves no label\)"),
        ([AllBut(None), "a"], "row 0 contains NaN"),
        ([AllBut(["a"]), "a"], r"Row 0 has a candidate .* write AllBut\('a', 'b'\) for several"),
        ([[0.7, 0.3], [0.2, 0.8]], r"looks like a table of weights.*numpy.asarray"),
    ],
)
def test_a_wrong_weight_names_row_and_label(rows, message):
    with pytest.raises(ValueError, match=message):
        as_candidates(rows)


def test_a_label_outside_the_classes_is_rejected_in_every_kind_of_row():
    for row in ({"z": 0.5, "a": 0.5}, AllBut("z")):
        with pytest.raises(ValueError, match="Row 1 has the candidate label 'z'"):
            as_candidates(["a", row], classes=["a", "b"])


def test_pickles_of_the_first_release():
    """In 0.1.0, AllBut was in the module forms."""
    pickled = pickle.dumps(AllBut("dog"), protocol=0)
    old = pickled.replace(b"candidates.label_collections", b"candidates.forms")
    assert old != pickled
    assert pickle.loads(old).labels == ("dog",)
