"""What is proper and yet probably a mistake is said, and nothing else is."""

import warnings

import numpy as np
import pytest

from ambilearn.candidates import as_candidates
from ambilearn.own_data import read_candidate_table
from ambilearn.own_data.candidate_checks import warn_of_doubtful_candidates


def check(sets, votes=False):
    """The warnings, in one text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_doubtful_candidates("t.csv", as_candidates(sets), votes=votes)
    return "\n".join(str(warning.message) for warning in caught)


def vote_check(*labels):
    """Some rows of votes, in which every two labels meet."""
    return check([{a, b} for a in labels for b in labels], votes=True)


@pytest.mark.parametrize("sep", ["|", ";", ",", "/", "&", "+", " ", " or ", " and "])
def test_cells_that_are_joined_by_another_sign(sep):
    labels = ["cat", "dog", f"cat{sep}dog", "emu", f"emu{sep}cat", "dog"]
    text = check([{label} for label in labels])
    assert text == (
        f"t.csv: every row has one candidate, and {f'cat{sep}dog'!r} is taken as one label. If "
        f"{sep!r} separates labels, say so by sep={sep!r} (--sep {sep!r})."
    )


@pytest.mark.parametrize(
    "labels",
    [
        ["hot dog", "hot", "dog"],  # once is chance
        ["New York", "Los Angeles", "San Jose", "San Diego"],
        ["A+", "A", "B+", "B"],
        ["and/or", "and", "nor"],
        ["rock & roll", "rhythm & blues"],
    ],
)
def test_labels_that_contain_a_sign(labels):
    assert check([{label} for label in labels]) == ""


def test_where_some_sets_are_larger_the_sign_was_right():
    assert check([{"cat", "dog"}, {"cat;dog"}, {"cat"}, {"dog"}]) == ""


def test_a_label_that_is_in_nearly_every_set():
    rows = [{"other", "abcd"[i % 4]} for i in range(38)] + [{"a"}, {"other"}]
    text = check(rows)
    assert text.startswith("t.csv: 'other' is a candidate in 98% of the rows, mostly beside others")
    assert check(rows[:19]) == ""  # too few to tell
    assert check([{"other", "abcd"[i % 4]} if i % 10 else {"a"} for i in range(40)]) == ""


def test_a_frequent_label_without_company_is_just_frequent():
    assert check([{"no"}] * 39 + [{"yes"}]) == ""


@pytest.mark.parametrize(
    "code", ["none", "NONE", "Skip", "-", "no_answer", "Don't know", "not-sure", "-1", "0", "99"]
)
def test_a_code_for_no_answer_among_words(code):
    text = vote_check("cat", "dog", code)
    assert text.startswith(f"t.csv: {code!r} is counted as a vote like any other, and looks like")
    assert "leave such cells empty" in text


@pytest.mark.parametrize("code", [-1, -99, 99, 999])
def test_a_code_for_no_answer_among_numbers(code):
    assert f"t.csv: {code} is counted as a vote" in vote_check(0, 1, 2, code)
    assert f"t.csv: {str(code)!r} is counted" in vote_check("0", "1", "2", str(code))


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2],
        ["0", "1", "2"],
        [-2, -1, 0, 1, 2],  # a scale
        [97, 98, 99, 100],
        [30, 99],
        ["cat", "dog", "nothing else"],
        ["1", "2", "cat"],
        ["route 99", "route 1"],
        [True, False],
        ["nonesuch", "skipper"],
        [-1],
    ],
)
def test_ordinary_labels_of_votes(labels):
    assert vote_check(*labels) == ""


def test_candidates_of_one_column_may_say_none():
    assert check([{"none", "cat"}, {"cat"}, {"none"}]) == ""


def test_words_that_were_asked_for_are_labels():
    rows = [{"NA", "ZA"}, {"NA"}, {"ZA"}]
    assert check(rows, votes=True) == ""


def test_tables_are_checked():
    frame_of = {"x": np.arange(6.0), "a": list("pqpqpq"), "b": ["p", "-1", "q", "-1", "q", "p"]}
    pd = pytest.importorskip("pandas")
    with pytest.warns(UserWarning, match=r"table, candidates in 'a', 'b': '-1' is counted") as seen:
        read_candidate_table(pd.DataFrame(frame_of), candidates=["a", "b"])
    assert len(seen) == 1  # once, although votes are counted twice
    assert seen[0].filename == __file__
