"""What commands print: in a line or two, however many columns a table has."""

import io
from functools import partial

import numpy as np
import pandas as pd
import pytest

from ambilearn.cli.summary import (
    describe_accuracy,
    describe_calibration,
    describe_cleaned,
    describe_model,
    describe_table,
    hint_at_given_label,
)
from ambilearn.confidence import Calibration
from ambilearn.tables import clean_table, fit_table, judge_table, read_candidate_table


def csv(text, **options):
    return read_candidate_table(
        io.StringIO(text), **({"candidates": "names", "format": "csv"} | options)
    )


def test_accuracy_counts_rows_of_known_label_only(said):
    table = csv("x,names,t\n1,a|b,a\n2,b,\n3,a,b\n", truth="t")
    assert said(describe_accuracy, table, np.array(["a", "b", "a"])) == (
        "50.0% of the 2 rows with a known label are right\n"
        "50.0% of them have a known label that is not a candidate (1 row); their chosen label is "
        "always wrong\n"
    )
    assert said(describe_accuracy, csv("x,names\n1,a\n2,b\n"), np.array(["a", "b"])) == ""
    unknown = csv("x,names,t\n1,a,\n2,b,\n", truth="t")
    assert said(describe_accuracy, unknown, np.array(["a", "b"])) == ""


def test_the_model(said, table):
    assert said(describe_model, fit_table(table, "plknn"), {}) == ""
    model = fit_table(table, "plknn", tune=True)
    chosen, score = model.about["chosen"], model.about["selection score"]
    assert said(describe_model, model, {}) == (
        f"chosen without true labels: n_neighbors={chosen['n_neighbors']} "
        f"({score:.1%} of the held-out predictions are candidates)\n"
    )
    model = fit_table(table, "sure", {"n_landmarks": 9})
    assert "the kernel of 60 rows is approximated by 9 landmarks" in said(describe_model, model, {})
    assert said(describe_model, model, {"n_landmarks": 9}) == ""


def test_the_rows_to_look_at_first(said, table):
    cleaned = clean_table(table)
    text = said(describe_cleaned, cleaned)
    ambiguous = (table.candidates.sizes > 1).sum()
    close = (cleaned.choices.margins < 0.1).sum()
    assert text.startswith(
        f"{ambiguous} rows with several candidates, among them {close} close calls"
    )
    rows = text.partition("the first row is 0):\n")[2].splitlines()[1:]
    assert [int(row.split()[0]) for row in rows] == cleaned.order[:10].tolist()
    label, confidence = cleaned.candidates(cleaned.order[0])[0]
    assert f" {label} {confidence:.2f}, " in rows[0]


def test_nothing_to_look_at(said):
    table = csv("x,names\n1,a\n2,a\n8,b\n9,b\n")
    nothing = "No row has several candidates\n"
    cleaned = clean_table(table, "plknn", {"n_neighbors": 1}, fast=True)
    assert said(describe_cleaned, cleaned) == nothing
    cleaned = clean_table(table, "plknn", {"n_neighbors": 1})
    flagged = "0 rows in which probably no candidate is correct (doubt above 0.5)\n"
    assert said(describe_cleaned, cleaned) == nothing + flagged


def test_a_doubtful_row_is_shown_with_its_suggestion(said, people):
    rows = np.flatnonzero(people["names"].eq(people["truth"]))[:4]
    other = {"anna": "bob", "bob": "cleo", "cleo": "anna"}
    people.loc[rows, "names"] = people["truth"][rows].map(other)
    table = read_candidate_table(people, candidates="names", exclude=["truth"])
    cleaned = clean_table(table)
    text = said(describe_cleaned, cleaned)
    n, row = cleaned.doubt.doubtful.sum(), cleaned.doubt.order[0]
    assert " in which probably no candidate is correct (doubt above 0.5)\n" in text
    assert f"\n{n} row" in text
    shown = [line.split() for line in text.partition("the first row is 0):\n")[2].splitlines()[1:]]
    [line] = [line for line in shown if line[0] == str(row)]
    assert line[1:3] == [f"{cleaned.doubt.score[row]:.2f}", cleaned.doubt.suggestion[row]]


def test_long_labels_and_many_candidates_are_cut(said):
    many = "|".join(f"{'x' * 50}{i}" for i in range(6))
    cleaned = clean_table(csv(f"x,names\n1,{many}\n2,{many}\n3,a\n"), "plknn", {"n_neighbors": 2})
    text = " ".join(said(describe_cleaned, cleaned).split())
    assert "x" * 30 not in text
    assert "x…" in text
    assert ", and 2 more" in text


def judged_votes(**options):
    """Twenty rows of two groups: A and B err in row 9 alone, C often; row 4 has no answer."""
    truth = "ab" * 10
    rows = [f"{i % 2 * 5 + i / 20},{t},{t},{'ab'[i % 3 == 0]},{t}" for i, t in enumerate(truth)]
    rows[4], rows[9] = "0.2,,,,a", "5.45,a,a,a,b"
    text = "\n".join(["x,A,B,C,truth", *rows])
    with pytest.warns(UserWarning, match=r"1 row without labels \(4\)"):
        table = csv(text, candidates=["A", "B", "C"], truth="truth", **options)
    return judge_table(table, "plknn", {"n_neighbors": 3}).table


def test_answers_are_no_candidates_where_annotators_were_judged(said):
    table = judged_votes()
    cleaned = clean_table(table, "plknn", {"n_neighbors": 3})
    text = said(describe_accuracy, cleaned.table, cleaned.choices.labels)
    assert "10.0% of them have a known label that is in no answer (2 rows)\n" in text
    text += said(describe_cleaned, cleaned)
    several = (table.given.sizes > 1).sum() - 1  # not of row 4
    left = (table.candidates.sizes > 1).sum()
    assert several > left
    assert f"\n{several} rows with several different answers\n{left} row" in text
    assert " with several possible labels, among them" in text
    assert " in which probably no answer is correct" in text
    assert " label  labels and their scores\n" in text
    assert "candidate" not in text


def test_calibration_says_why(said):
    text = said(describe_calibration, Calibration("only 3 rows with a single candidate"))
    assert text.startswith("confidence is empty: only 3 rows with a single candidate. To fill it")
    assert "ambilearn audit" in text
    text = said(partial(describe_calibration, new_rows=True), Calibration("only 3 rows"))
    assert "confidence of `predict` is empty: only 3 rows" in " ".join(text.split())
    text = said(partial(describe_calibration, page=True), Calibration("only 3 rows"))
    assert text == "the page shows scores without calibration: only 3 rows\n"
    text = said(describe_calibration, Calibration("the scores are too low", 3.0))
    assert text == "calibrated (the scores are too low)\n"


def test_the_table(said, table):
    lines = said(describe_table, table).splitlines()
    assert lines[0].endswith(
        f"60 rows, 3 labels, {table.candidates.sizes.mean():.2f} candidates per row"
    )
    assert lines[1] == (
        "5 features: number: height, weight; category: town; truth value: member; date: born"
    )
    assert lines[2] == "left out: 'id' is text with 60 different values in 60 rows"


def test_the_column_that_joins_answers_and_features_is_named(said):
    answers = pd.DataFrame({"file": ["p", "q"], "ann": ["gnu", "emu"]})
    items = pd.DataFrame({"file": ["p", "q"], "x": [1, 2]})
    table = read_candidate_table(answers, candidates=["ann"], features_from=items)
    assert "answers and features are joined by the column 'file'\n" in said(describe_table, table)


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
