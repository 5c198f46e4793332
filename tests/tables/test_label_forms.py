"""Labels are normalized to one Unicode form, however they get from a table into a model."""

import io

import pandas as pd
import pytest

from ambilearn.datasets import InvalidFileError
from ambilearn.tables import read_candidate_table

ZOE = "Zo\u00eb"
FORMS = ["Zoe\u0308", "Zo\u200b\u00eb", "\u2060Zo\u00eb", "Zo\u00eb\ufeff", "Zo\u00eb\u00a0"]


def read(text, **options):
    options = {"candidates": "names", "format": "csv"} | options
    return read_candidate_table(io.StringIO(text), **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("as_list", [False, True])
def test_candidates(form, as_list):
    cells = [f"{form}|bob", ZOE, "bob"]
    frame = pd.DataFrame({"x": [1, 2, 3], "names": [c.split("|") if as_list else c for c in cells]})
    table = read_candidate_table(frame, candidates="names")
    assert table.candidates.to_sets() == [{ZOE, "bob"}, {ZOE}, {"bob"}]
    assert table.frame["names"].to_list() == frame["names"].to_list()  # cells stay as they are


@pytest.mark.parametrize("form", FORMS)
def test_answers_in_columns_and_in_long_form(form):
    table = read(f"x,A,B\n1,{form},{ZOE}\n2,bob,{form}\n", candidates=["A", "B"])
    assert table.votes.classes.tolist() == [ZOE, "bob"]
    answers = f"item,annotator,label\np,A,{form}\np,B,{ZOE}\nq,A,bob\n"
    items = io.StringIO("item,x\np,1\nq,2\n")
    table = read_candidate_table(io.StringIO(answers), features_from=items, format="csv")
    assert table.frame["answers"].to_list() == [ZOE, "bob"]


@pytest.mark.parametrize("form", FORMS)
def test_the_known_label(form):
    table = read(f"x,names,t\n1,{ZOE}|bob,{form}\n2,bob,bob\n", truth="t")
    assert table.truth == [ZOE, "bob"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", [*FORMS, ZOE])
def test_codes_for_no_answer(form, code):
    table = read(f"x,names\n1,{form}|bob\n2,bob\n3,cat\n", no_answer=[code])
    assert table.candidates.to_sets() == [{"bob"}, {"bob"}, {"cat"}]


def test_words_for_missing():
    with pytest.raises(InvalidFileError, match=r"Row 1 has no candidate label.*'NA' is read as"):
        read("x,names\n1,a\n2,NA\u200b\n")
    with pytest.raises(InvalidFileError, match="Row 1 has no candidate label"):
        read("x,names\n1,a\n2,\u200b\n")


@pytest.mark.parametrize("form", FORMS)
def test_corrections(form):
    corrections = io.StringIO(f"row,candidates,label\n0,bob|{form},{form}\n1,bob,{form}\n")
    table = read(f"x,names\n1,{ZOE}|bob\n2,bob\n3,bob\n", checked=corrections)
    assert table.corrections.labels == {0: ZOE, 1: ZOE}
    assert table.corrections.new_labels == []


def test_an_earlier_column_of_candidates_is_no_feature():
    table = read(f"x,old,names\n1,{FORMS[0]}|bob,{ZOE}\n2,bob,bob\n")
    assert table.features.left_out == {"old": "holds candidate labels"}


def test_an_invisible_separator_is_rejected():
    with pytest.raises(ValueError, match="sep must not be empty or invisible"):
        read("x,names\n1,a\n", sep="\u200b")
