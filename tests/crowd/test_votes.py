import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from annotators import item_names, make_crowd
from hypothesis import given
from hypothesis import strategies as st

from ambilearn import IPAL, PLCL, PLKNN, as_candidates, votes_to_candidates
from ambilearn.crowd import Votes

LONG = [
    ("x", "ann", "cat"),
    ("x", "ben", "cat"),
    ("x", "eve", "dog"),
    ("y", "ben", "fox"),
    ("y", "ann", "dog"),
]
COLUMNS = ["item", "annotator", "label"]
VOTES = [["cat", "cat", "dog"], ["dog", None, "fox"], ["fox", "fox", "fox"]]
WIDE = [["cat", "cat", "dog"], ["dog", "fox", None]]


def _frame(rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def _triples(votes):
    frame = votes.to_frame()
    return list(frame.itertuples(index=False, name=None))


def _table(columns):
    return pd.DataFrame([["x"] * len(columns)] * 2, columns=columns)


def test_both_forms_are_the_same():
    long = Votes.from_long(LONG)
    wide = Votes.from_wide(WIDE, items=["x", "y"], annotators=["ann", "ben", "eve"])
    assert _triples(long) == _triples(wide) == sorted(LONG)
    for votes in (long, wide):
        assert votes.annotators.tolist() == ["ann", "ben", "eve"]
        assert votes.classes.tolist() == ["cat", "dog", "fox"]
        assert votes.counts().toarray().tolist() == [[2, 1, 0], [0, 1, 1]]
        assert len(votes) == 2
        assert votes.n_answers == 5
        assert votes.n_repeated == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: np.array(rows),
        _frame,
        lambda rows: pl.DataFrame(rows, schema=COLUMNS, orient="row"),
        lambda rows: pa.table(list(zip(*rows, strict=True)), COLUMNS),
        lambda rows: dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)),
    ],
)
def test_forms_of_long_answers(make):
    assert _triples(Votes.from_long(make(LONG))) == sorted(LONG)


def test_columns_may_have_other_names():
    frame = pd.DataFrame(LONG, columns=["clip", "who", "genre"])
    votes = Votes.from_long(frame, item="clip", annotator="who", label="genre")
    assert _triples(votes) == sorted(LONG)
    with pytest.raises(ValueError, match="no column 'item'; they have clip, who, genre"):
        Votes.from_long(frame)


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_a_data_frame_names_its_annotators(convert):
    votes = Votes.from_wide(convert(pd.DataFrame(WIDE, columns=["ann", "ben", "eve"])))
    assert votes.annotators.tolist() == ["ann", "ben", "eve"]
    assert votes.items.tolist() == [0, 1]
    assert votes.counts().toarray().tolist() == [[2, 1, 0], [0, 1, 1]]


def test_an_annotator_may_have_the_name_of_an_attribute():
    votes = Votes.from_wide(pd.DataFrame({"column_names": ["a", "b"], "ben": ["a", "a"]}))
    assert votes.annotators.tolist() == ["ben", "column_names"]


def test_columns_of_pyarrow_keep_whole_numbers():
    table = pa.table({"item": [7, 8, 9], "annotator": [1, 2, 1], "label": [3, 4, None]})
    votes = Votes.from_long(table, items=table["item"])
    assert votes.items.tolist() == [7, 8, 9]
    assert repr(votes.classes.tolist()) == "[3, 4]"


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame])
def test_whole_numbers_beside_null_stay_whole(make):
    votes = Votes.from_wide(make({"ann": [1, None, 2], "ben": [1, 2, 2]}))
    assert votes.classes.dtype.kind == "i"
    assert votes.counts().toarray().tolist() == [[2, 0], [0, 1], [0, 2]]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_different_types_keep_large_whole_numbers(make):
    """As floats, the two labels would be equal."""
    table = make({"ann": [2**53, 2**53 + 1], "ben": [float("nan"), 1.5]})
    for result in (Votes.from_wide(table), votes_to_candidates(table)):
        assert result.classes.tolist() == [1.5, 2**53, 2**53 + 1]


@pytest.mark.parametrize("code", [-1, "skipped", None, float("nan"), "", pd.NA])
def test_codes_for_no_answer(code):
    answers = [*LONG, ("y", "eve", code), ("z", "eve", code)]
    assert _triples(Votes.from_long(answers, no_answer=code)) == sorted(LONG)
    wide = Votes.from_wide([["cat", code], [code, "dog"]], no_answer=[code, "other"])
    assert wide.n_answers == 2
    sets = votes_to_candidates([["cat", code], [code, "dog"]], no_answer=[code])
    assert sets.to_sets() == [{"cat"}, {"dog"}]


def test_numbers_with_a_code():
    votes = Votes.from_wide(np.array([[0, -1], [1, 1], [-1, -1]]), no_answer=-1)
    assert votes.classes.tolist() == [0, 1]
    assert votes.unanswered.tolist() == [2]


@pytest.mark.parametrize(("code", "cell"), [(-1, "-1"), ("-1", -1), (-1, "-1.0"), (-1.0, "-1")])
def test_a_code_is_met_as_number_and_as_text(code, cell):
    """A file read as text has "-1" where the codebook says -1."""
    table = [["1", cell], [cell, "2"]]
    assert Votes.from_wide(table, no_answer=code).classes.tolist() == ["1", "2"]
    answers = [("x", "ann", "1"), ("x", "ben", cell)]
    assert Votes.from_long(answers, no_answer=code).classes.tolist() == ["1"]
    assert votes_to_candidates(table, no_answer=code).to_sets() == [{"1"}, {"2"}]


def test_a_missing_code_is_no_word():
    votes = Votes.from_wide([["None", None], ["nan", float("nan")]], no_answer=[None, float("nan")])
    assert votes.classes.tolist() == ["None", "nan"]


def test_who_says_the_same_twice_is_counted_once():
    votes = Votes.from_long([*LONG, LONG[0], LONG[0]])
    assert votes.n_repeated == 2
    assert votes.counts().toarray().tolist() == [[2, 1, 0], [0, 1, 1]]


def test_who_wavers_answers_twice():
    votes = Votes.from_long([*LONG, ("x", "ann", "dog")])
    assert votes.n_repeated == 0
    assert votes.counts().toarray()[0].tolist() == [2, 2, 0]
    assert Votes.from_wide([[{"cat", "dog"}, "dog"]]).counts().toarray().tolist() == [[1, 2]]


def test_the_features_give_the_order_and_may_have_more():
    votes = Votes.from_long(LONG, items=["z", "y", "x"])
    assert votes.counts().toarray().tolist() == [[0, 0, 0], [0, 1, 1], [2, 1, 0]]
    assert votes.unanswered.tolist() == ["z"]
    assert list(votes.to_candidates()) == [
        {"cat": 1.0, "dog": 1.0, "fox": 1.0},
        {"dog": 1.0, "fox": 1.0},
        {"cat": 2.0, "dog": 1.0},
    ]
    sets = votes.to_candidates(min_votes=2, fallback="union").to_sets()
    assert sets == [{"cat", "dog", "fox"}, {"dog", "fox"}, {"cat"}]
    assert votes.to_candidates(weights=False).weights is None


def test_answers_without_features_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="2 answers to 1 item without features left out: 'y'"):
        votes = Votes.from_long(LONG, items=["x"])
    assert votes.classes.tolist() == ["cat", "dog"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Votes.from_long(LONG, items=["x", "y", "z"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Votes.from_long(LONG, items=[1, 2]), "No answer is to one of the 2 items.*or num"),
        (lambda: Votes.from_long(LONG, items=["x", "y", "x"]), "'x' is in rows 0 and 2"),
        (lambda: Votes.from_long([("x", "ann", None)]), "no answer at all"),
        (lambda: Votes.from_long([("x", None, "a")]), "Answer 0 has no annotator"),
        (lambda: Votes.from_long([*LONG, (" ", "ann", "a")]), "Answer 5 has no item"),
        (lambda: Votes.from_long([("x", "ann")]), r"Answer 0 is \('x', 'ann'\)"),
        (lambda: Votes.from_long(_frame(LONG), label="item"), "'item' is named more than once"),
        (lambda: Votes.from_long({**_frame(LONG), "label": "abc"}), "have 5, 5, 3 entries"),
        (lambda: Votes.from_long(["xab"]), "Row 0 of the votes is 'xab'"),
        (lambda: Votes.from_long([("x", "ann", {"a": 1})]), "must be text or numbers"),
        (lambda: Votes.from_long(LONG, classes=["cat"]), "is not among the 1 given classes"),
        (lambda: Votes.from_long(_table([*COLUMNS, "label"])), "have 2 columns 'label': rename"),
        (
            lambda: Votes.from_long({"item": [1], "annotator": [1, 2], "label": [1, 2]}),
            "columns item, annotator, label of the answers have 1, 2, 2 entries",
        ),
        (lambda: Votes.from_wide(_table(COLUMNS)), "one answer in each row: .*Votes.from_long"),
        (lambda: Votes.from_wide([["a", "b"], ["a"]]), "The rows of votes have 1, 2 cells"),
        (lambda: Votes.from_wide([]), "no rows of votes"),
        (lambda: Votes.from_wide(WIDE, items=["x"]), "items has 1 name, but there are 2 rows"),
    ],
)
def test_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_classes_may_be_given():
    votes = Votes.from_long(LONG, classes=["fox", "dog", "cat", "emu"])
    assert votes.counts().toarray().tolist() == [[0, 1, 2, 0], [1, 1, 0, 0]]


@pytest.mark.parametrize("method", [PLCL(), PLKNN(), IPAL()], ids=lambda m: type(m).__name__)
def test_dictionary_table_votes_and_weights_give_the_same_answer(method):
    X, _, answers = make_crowd()
    counts = pd.crosstab(answers["item"], answers["label"]).loc[item_names()]
    long = Votes.from_long(answers, items=item_names()).to_candidates()
    wide = answers.pivot(index="item", columns="annotator", values="label").loc[item_names()]
    forms = {
        "long": long,
        "wide": Votes.from_wide(wide).to_candidates(),
        "cells": votes_to_candidates(wide),
        "coded": votes_to_candidates(wide.fillna("-1"), no_answer="-1"),
        "dictionaries": [
            {k: v for k, v in row.items() if v} for row in counts.to_dict(orient="records")
        ],
        "table": counts.astype(float),
        "array": as_candidates(counts.to_numpy(), classes=list(counts)),
    }
    expected = method.fit(X, long)
    distributions, scores = expected.label_distributions_, expected.decision_function(X)
    assert long.weights is not None
    for name, form in forms.items():
        found = method.fit(X, form)
        assert found.classes_.tolist() == ["cat", "dog", "emu"], name
        np.testing.assert_array_equal(found.label_distributions_, distributions, err_msg=name)
        np.testing.assert_array_equal(found.decision_function(X), scores, err_msg=name)


def test_columns_of_one_name_are_rejected():
    frame = pd.DataFrame([["x", "y"], ["y", "y"]], columns=["ann", "ann"])
    with pytest.raises(ValueError, match="The annotator 'ann' has several columns"):
        Votes.from_wide(frame)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["x", "y", "x "], "class 'x' is listed more than once"),
        (["x", "y", None], "classes contain a missing value"),
        ({"x", "y"}, "a set, which has no order"),
    ],
)
def test_wrong_classes(classes, message):
    with pytest.raises(ValueError, match=message):
        Votes.from_wide([["x", "y"], ["x", "x"]], classes=classes)


def test_every_item_needs_a_name():
    with pytest.raises(ValueError, match=r"Row 1 of items is missing \(nan\)"):
        Votes.from_wide([["x"], ["y"]], items=np.array([1.0, np.nan]))


@pytest.mark.parametrize("codes", [range(-3, 0), pd.Series([-1, -2]), {-1: 0}.keys(), [-1], -1])
def test_codes_for_no_answer_in_every_collection(codes):
    votes = Votes.from_wide([[1, -1], [2, 1]], no_answer=codes)
    assert votes.classes.tolist() == [1, 2]


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
def test_rejected_votes(votes, message):
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
