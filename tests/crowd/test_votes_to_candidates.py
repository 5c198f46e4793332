import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn import votes_to_candidates

VOTES = [["cat", "cat", "dog"], ["dog", None, "fox"], ["fox", "fox", "fox"]]


def test_counts_are_the_weights():
    sets = votes_to_candidates(VOTES)
    assert list(sets) == [{"cat": 2, "dog": 1}, {"dog": 1, "fox": 1}, {"fox": 3}]
    assert votes_to_candidates(VOTES, weights=False).weights is None
    two = votes_to_candidates([["a", "a", "b", "b", "b", "c"]], min_votes=2)
    assert list(two) == [{"a": 2, "b": 3}]


def test_equal_votes_give_no_weights():
    assert votes_to_candidates([["a", "b"], ["b", None]]).weights is None


def test_at_least_m_votes():
    sets = votes_to_candidates([row for row in VOTES if None not in row], min_votes=2)
    assert sets.to_sets() == [{"cat"}, {"fox"}]
    assert sets.classes.tolist() == ["cat", "dog", "fox"]  # all labels with any vote
    with pytest.raises(ValueError, match=r"In row 1 no label has 2 votes \('dog': 1, 'fox': 1\)"):
        votes_to_candidates(VOTES, min_votes=2)


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, pd.NaT, "", "  ", [], float("nan")])
def test_row_without_vote_raises(empty):
    assert votes_to_candidates([[empty, "a"], ["b", empty]]).to_sets() == [{"a"}, {"b"}]
    with pytest.raises(ValueError, match="Row 1 has no candidate label"):
        votes_to_candidates([["a", "a"], [empty, empty]])


def test_rows_may_have_different_lengths():
    votes = votes_to_candidates([["a", "b"], ["b"], ("a", "a", "b")])
    assert list(votes) == [{"a": 1, "b": 1}, {"b": 1}, {"a": 2, "b": 1}]


def test_votes_may_be_a_column_of_lists():
    votes = pa.array([["a", "b"], ["b", None]])
    for column in (votes, pa.chunked_array([votes])):
        assert votes_to_candidates(column).to_sets() == [{"a", "b"}, {"b"}]


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([], "no rows of votes"),
        (np.array(["ab", "cd"]), "Row 0 of the votes is 'ab': pass a list"),
        (pa.array(["a", "b"]), "Row 0 of the votes is 'a': pass a list"),
        (pa.array([["a"], None]), "Row 1 of the votes is None: pass a list"),
        ([{"a": 2}], r"Row 0 of the votes is \{'a': 2\}: pass a list"),
        ([["a", 1]], "different types"),
        ([[{"a": 1}]], r"Row 0 has \{'a': 1\} as a label.*dict"),
        ([["a"], [[["nested"]]]], r"Row 1 has \['nested'\] as a label"),
        ([["a"], [["b", None]]], "Row 1 has a missing label"),
        ([["a", "b"], ["c", object()]], "Row 1 has .* must be text or numbers"),
        ([[b"bytes"]], "must be text or numbers"),
    ],
)
def test_rejected(votes, message):
    with pytest.raises(ValueError, match=message):
        votes_to_candidates(votes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_votes": 0}, "at least 1"),
        ({"min_votes": "2"}, "must be a whole number"),
        ({"fallback": "x"}, "fallback must"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        votes_to_candidates(VOTES, **options)


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "c", None]), min_size=4, max_size=4).filter(any),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 4),
)
def test_counts_of_a_small_example(votes, min_votes):
    sets = votes_to_candidates(votes, min_votes=min_votes, fallback="union").to_sets()
    for row, found in zip(votes, sets, strict=True):
        given_labels = {label for label in row if label}
        enough = {label for label in given_labels if row.count(label) >= min_votes}
        assert found == (enough or given_labels)
