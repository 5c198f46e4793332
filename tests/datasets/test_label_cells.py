import numpy as np
import pandas as pd
import pytest

from ambilearn.datasets.label_cells import (
    drop_codes,
    no_answer_codes,
    parse_labels,
    whole_number_text,
)


@pytest.mark.parametrize(
    "no_answer", [-1, "-1", -1.0, " -1 ", [-1], {"-1"}, np.array([-1]), (-1.0, "-1")]
)
def test_one_code_in_any_form(no_answer):
    assert no_answer_codes(no_answer) == {"-1"}


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, [None, float("nan")], ()])
def test_missing_values_are_not_codes(missing):
    """Or the labels None and nan would be dropped."""
    assert no_answer_codes(missing) == frozenset()


def test_several_codes():
    assert no_answer_codes([-1, "skipped", 0.5]) == {"-1", "skipped", "0.5"}


@pytest.mark.parametrize("cell", [-1, -1.0, "-1", "-1.0", " -1 ", np.int64(-1), [-1], {"-1", -1}])
def test_a_cell_with_only_the_code(cell):
    assert drop_codes(cell, {"-1"}) is None


@pytest.mark.parametrize(
    ("cell", "left"),
    [
        ("cat|-1|owl", "cat|owl"),
        ("cat | -1.0", "cat"),
        ("-1|-1", None),
        (["cat", -1], ["cat"]),
        (("-1", "owl"), ["owl"]),
        (np.array([3, -1]), [3]),
    ],
)
def test_codes_among_labels_are_dropped(cell, left):
    assert drop_codes(cell, {"-1"}, "|") == left


@pytest.mark.parametrize("cell", ["cat|-11", "cat", 1, "", None, [], "x-1"])
def test_a_cell_without_a_code_does_not_change(cell):
    assert drop_codes(cell, {"-1"}, "|") is cell


def test_a_code_may_contain_the_separator():
    assert drop_codes("n|a", {"n|a"}, "|") is None


def test_without_a_separator_text_is_one_label():
    assert drop_codes("cat|-1", {"-1"}) == "cat|-1"


def test_a_missing_cell_is_not_a_code():
    assert drop_codes(np.ma.masked, {"--"}) is np.ma.masked


@pytest.mark.parametrize(
    ("text", "whole"), [("1.0", "1"), (" -3.00 ", "-3"), ("+2", "+2"), ("1.5", "1.5"), ("a", "a")]
)
def test_whole_numbers(text, whole):
    assert whole_number_text(text) == whole


def test_text_is_split_only_with_a_separator():
    assert parse_labels("a|b", None, 0) == {"a|b"}
    assert parse_labels(" a | b|a", "|", 0) == {"a", "b"}
    assert parse_labels("a::b", "::", 0) == {"a", "b"}
    assert parse_labels("", "|", 0) == set()
    with pytest.raises(ValueError, match=r"Row 7 has an empty label in 'a\|\|b'"):
        parse_labels("a||b", "|", 7)
