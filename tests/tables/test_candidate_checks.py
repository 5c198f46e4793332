"""Warnings of valid tables that are probably mistakes, and no other warnings."""

import warnings

import numpy as np
import pandas as pd
import pytest
from annotators import make_crowd

from ambilearn.candidates import as_candidates
from ambilearn.candidates.sets import pair_rows
from ambilearn.tables import read_candidate_table
from ambilearn.tables.candidate_checks import (
    LabelPlaces,
    looks_like_answers,
    warn_of_doubtful_candidates,
    warn_of_odd_labels,
)


def check(sets, votes=False):
    """The warnings, in one text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = as_candidates(sets)
        warn_of_doubtful_candidates("t.csv", found, votes=votes)
        places = LabelPlaces(found.classes, pair_rows(found), found.labels)
        several = bool((found.sizes > 1).any())
        warn_of_odd_labels("t.csv", places, sep="|", several=several)
    return "\n".join(str(warning.message) for warning in caught)


def vote_check(*labels):
    """Some rows of votes, in which every two labels meet."""
    return check([{a, b} for a in labels for b in labels], votes=True)


@pytest.mark.parametrize("sep", ["|", ";", ",", "/", "&", "+", " ", " or ", " and "])
def test_cells_that_are_joined_by_another_sign(sep):
    labels = ["cat", "dog", f"cat{sep}dog", "emu", f"emu{sep}cat", "dog"]
    text = check([{label} for label in labels])
    assert text == (
        f"t.csv: {f'cat{sep}dog'!r} (rows 2, 4) is taken as one label. If {sep!r} separates "
        f"labels, use sep={sep!r} (--sep {sep!r})."
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


def test_another_sign_among_the_usual_one():
    assert check([{"cat", "dog"}, {"cat;dog"}, {"cat"}, {"dog;cat"}]) == (
        "t.csv: 'cat;dog' (rows 1, 3) is taken as one label, while '|' separates labels elsewhere. "
        "Write '|' there, too; if only ';' separates labels, use sep=';' (--sep ';')."
    )


def test_a_name_with_a_sign_among_sets():
    assert check([{"cat", "dog"}, {"cat; black"}, {"cat"}, {"dog"}]) == ""
    assert check([{"hot", "dog"}, {"hot dog"}, {"dog"}]) == ""


def test_labels_in_lists_have_no_separator():
    rows = [["cat", "dog"], ["cat;dog"], ["cat"]]
    with pytest.warns(UserWarning, match=r"'cat;dog' \(row 1\) .*write each of them on its own"):
        read_candidate_table(pd.DataFrame({"x": [1, 2, 3], "c": rows}), candidates="c")


def test_misspelled_labels():
    rows = [{"anna", "robert"}] * 20 + [{"Anna"}, {"annna"}, {"robetr"}, {"Robert"}, {"annna"}]
    assert check(rows) == (
        "t.csv: labels that may be misspelled: 'Anna' for 'anna' (row 20), 'Robert' for 'robert' "
        "(row 23), 'annna' for 'anna' (rows 21, 24). Correct the table, or set the labels of "
        "these rows with checked (--checked)."
    )


def test_misspelled_answers_are_counted_without_unanswered_rows():
    """Rows without answers have all labels as candidates."""
    frame = {"x": np.arange(30) / 7, "A": ["anna"] * 10 + ["annna"] + [""] * 19}
    frame["B"] = ["robert"] * 11 + [""] * 19
    with pytest.warns(UserWarning, match="19 rows without labels") as caught:
        read_candidate_table(pd.DataFrame(frame), candidates=["A", "B"])
    assert len(caught) == 2  # nor is any label in nearly every set
    assert "'annna' for 'anna' (row 10). Correct" in str(caught[1].message)


def test_long_lists_of_columns_are_shortened():
    frame = {"x": [1, 2]} | {f"A{i}": ["cat", "-1"] for i in range(59)}
    with pytest.warns(UserWarning, match=r"in 'A0' and 58 more: '-1' is counted"):
        read_candidate_table(pd.DataFrame(frame), candidates="A*")


def test_a_label_that_is_in_nearly_every_set():
    rows = [{"other", "abcd"[i % 4]} for i in range(38)] + [{"a"}, {"other"}]
    text = check(rows)
    assert text.startswith("t.csv: 'other' is a candidate in 98% of the rows, mostly with others")
    assert check(rows[:19]) == ""  # too few to tell
    assert check(rows, votes=True) == ""  # together, many annotators choose most labels
    both = check([{"a", "b"}] * 20)
    assert "'a', 'b' are candidates in 100% of the rows" in both
    assert "in which rows they are correct" in both
    assert check([{"other", "abcd"[i % 4]} if i % 10 else {"a"} for i in range(40)]) == ""


@pytest.mark.parametrize(
    "code", ["none", "NONE", "Skip", "-", "no_answer", "Don't know", "not-sure", "-1", "0", "99"]
)
def test_a_code_for_no_answer_among_words(code):
    text = vote_check("cat", "dog", code)
    assert text.startswith(f"t.csv: {code!r} is counted as a vote, but looks like")
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


def test_tables_are_checked():
    frame_of = {"x": np.arange(6.0), "a": list("pqpqpq"), "b": ["p", "-1", "q", "-1", "q", "p"]}
    with pytest.warns(UserWarning, match=r"table, candidates in 'a', 'b': '-1' is counted") as seen:
        read_candidate_table(pd.DataFrame(frame_of), candidates=["a", "b"])
    assert len(seen) == 1  # once, although votes are counted twice
    assert seen[0].filename == __file__


def test_answers_are_known_by_their_looks():
    _, _, answers = make_crowd()
    assert looks_like_answers(answers, "label") == ("item", "annotator")
    timed = answers.assign(seconds=np.arange(len(answers)))
    assert looks_like_answers(timed, "label") == ("item", "annotator")


def test_who_reads_them_as_candidates_is_told():
    _, _, answers = make_crowd()
    with pytest.warns(UserWarning, match="table looks like answers in long form") as caught:
        read_candidate_table(answers, candidates="label")
    text = str(caught[0].message)
    assert "--item item --annotator annotator --answer label, and --features-from FILE" in text


@pytest.mark.parametrize("seed", range(5))
def test_ordinary_tables_are_left_alone(seed):
    rng = np.random.default_rng(seed)
    n = 60
    tables = [
        {"height": rng.normal(size=n).round(6), "weight": rng.normal(size=n).round(6)},
        {"town": rng.choice(list("xyz"), n), "color": rng.choice(list("rgb"), n)},
        {"id": np.arange(n), "town": rng.choice(list("xyz"), n)},
        {"x": rng.normal(size=n)},
    ]
    for columns in tables:
        frame = pd.DataFrame(columns).astype(str).assign(names=rng.choice(["a|b", "b|c", "a|c"], n))
        assert looks_like_answers(frame, "names") is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_candidate_table(frame, candidates="names")


@pytest.mark.parametrize("type", [str, float])
def test_rounded_measurements_are_no_names(type):
    x, y = np.meshgrid(np.arange(80) / 100, 1 + np.arange(50))
    frame = pd.DataFrame({"x": x.ravel(), "y": y.ravel()}).astype(type).assign(names="a|b")
    assert len(frame) == 4000
    assert looks_like_answers(frame, "names") is None


def test_numbers_are_names_if_they_are_whole():
    """Also those that pandas made floating point of, and beside a measurement."""
    _, _, answers = make_crowd()
    codes = answers.apply(lambda cells: pd.factorize(cells)[0].astype(float))
    assert looks_like_answers(codes, "label") == ("item", "annotator")
    timed = codes.assign(seconds=codes["item"] / 7)
    assert looks_like_answers(timed, "label") == ("item", "annotator")
