"""Problems of a table are reported in a line or two, however many columns it has."""

import io

import numpy as np
import pandas as pd
import pytest

from ambilearn.cli.summary import describe_table, hint_at_given_label
from ambilearn.tables import read_candidate_table


def csv(text, **options):
    return read_candidate_table(
        io.StringIO(text), **({"candidates": "names", "format": "csv"} | options)
    )


def test_the_table(said, table):
    lines = said(describe_table, table).splitlines()
    assert lines[0].endswith(
        f"60 rows, 3 labels, {table.candidates.sizes.mean():.2f} candidates per row"
    )
    assert lines[1] == (
        "5 features: number: height, weight; category: town; truth value: member; date: born"
    )
    assert lines[2] == "left out: 'id' is text with 60 different values in 60 rows"


def test_a_truth_among_the_features_is_noticed(said, people):
    table = read_candidate_table(people, candidates="names", categorical=["truth"])
    text = said(describe_table, table)
    assert "features with labels: 'truth'. If one is the true label, use --truth;" in text


def test_tables_in_which_no_label_can_change(said):
    text = said(hint_at_given_label, csv("x,names\n1,a\n2,a\n"))
    assert text == "There is only one label, 'a', so no label is changed.\n"
    text = said(hint_at_given_label, csv("x,names\n1,a\n2,b\n"))
    assert "Every row has one candidate, so no label is changed." in text
    assert said(hint_at_given_label, csv("x,names\n1,a|b\n2,b\n")) == ""


def test_corrections(said):
    corrections = io.StringIO("row,candidates,label\n0,a|b,zoe\n1,b,b\n")
    text = said(describe_table, csv("x,names\n1,a|b\n2,b\n3,a\n", checked=corrections))
    assert "2 rows corrected by a person" in text
    assert "labels that occur only in the corrections: zoe" in text


def test_columns_that_are_left_out_for_one_reason_share_a_line(said):
    n = 40
    columns = {f"same{i}": ["5"] * n for i in range(300)} | {"none": [""] * n}
    columns |= {"x": np.arange(n) % 7, "names": ["a", "b"] * (n // 2)}
    text = said(describe_table, read_candidate_table(pd.DataFrame(columns), candidates="names"))
    assert text.splitlines()[2:] == [
        "left out: 'same0', 'same1', 'same2', 'same3', 'same4' and 295 more: each has the same "
        "value everywhere",
        "left out: 'none' is empty",
    ]


def test_many_columns_with_labels_share_a_line(said):
    columns = {f"A{i}": ["a", "b", "a", "b"] for i in range(59)}
    columns |= {"x": [1, 2, 8, 9], "names": ["a|b", "b", "a", "b"]}
    text = said(describe_table, read_candidate_table(pd.DataFrame(columns), candidates="names"))
    assert "features with labels: 'A0', 'A1', 'A2', 'A3', 'A4' and 54 more. If one" in text
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize(
    "name", ["id", "ID", "Id", "image_id", "image-ID", "imageId", "photo id", "uuid", "index"]
)
def test_an_id_among_the_features_is_noticed(said, name):
    frame = pd.DataFrame({name: [1003, 17, 9, 4], "x": [1, 2, 8, 9], "names": list("abab")})
    text = said(describe_table, read_candidate_table(frame, candidates="names"))
    assert f"features that look like ids: {name!r}. If they do not" in text


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("humid", [1, 2, 8, 9]),
        ("acid", [1, 2, 8, 9]),
        ("x", [4, 3, 2, 1]),
        ("shop_id", [1, 1, 2, 2]),
        ("id", [0.5, 1.5, 2, 3]),
    ],
)
def test_other_numbers_are_no_ids(said, name, cells):
    frame = pd.DataFrame({name: cells, "names": list("abab")})
    text = said(describe_table, read_candidate_table(frame, candidates="names"))
    assert "look like ids" not in text


def test_a_truth_that_is_never_a_candidate_is_perhaps_no_truth(said):
    table = csv("x,names,t\n1,a|b,A\n2,b,B\n3,a,A\n", truth="t")
    assert "column 't' is among the candidates of its row" in said(describe_table, table)
    table = csv("x,A,B,t\n1,a,b,A\n2,b,b,B\n3,a,a,A\n", candidates=["A", "B"], truth="t")
    assert "No label in column 't' is among the answers of its row" in said(describe_table, table)
    table = csv("x,names,t\n1,a|b,A\n2,b,b\n3,a,A\n", truth="t")
    assert "not one of" not in said(describe_table, table)
