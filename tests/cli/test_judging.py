import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from annotators import item_names, make_crowd

from ambilearn.cli.judging import describe_annotators
from ambilearn.crowd import Votes, dawid_skene, report_annotators

LONG = ["--item", "item", "--annotator", "annotator", "--answer", "label"]
FEATURES = ["--features-from", "items.csv", "--method", "plknn"]
WEIGHTED = ["answers.csv", *LONG, *FEATURES, "--weight-annotators"]


@pytest.fixture
def crowd(private_machine):
    """Answers in answers.csv and wide.csv, features in items.csv."""
    X, truth, answers = make_crowd(n=60, lots=3)
    items = pd.DataFrame(X, columns=["x", "y", "z"]).assign(item=item_names(60), truth=truth)
    answers.to_csv("answers.csv", index=False)
    items.to_csv("items.csv", index=False)
    wide = answers.pivot(index="item", columns="annotator", values="label").fillna("-1")
    items.join(wide, on="item").to_csv("wide.csv", index=False)
    return truth


@pytest.mark.slow
def test_clean_answers_in_long_form(run, crowd):
    options = ["--truth", "truth", "--out", "c.csv", "--annotators-out", "who.csv.gz"]
    status, out, err = run("clean", "answers.csv", *LONG, *FEATURES, *options)
    assert (status, out) == (0, "")
    cleaned = pd.read_csv("c.csv")
    assert cleaned["item"].to_list() == item_names(60)
    assert (cleaned["label"] == crowd).mean() > 0.85
    assert "answers" in cleaned
    assert "7 annotators judged by their answers and the features (trust in the features:" in err
    assert re.search(r"a0 +\d+ +\d+% \(\d+%–\d+%\)", err)
    assert "most frequent confusions: right → given (how often)" in err
    assert re.search(r"\d\d\.\d% of the 60 rows with a known label are right", err)
    who = pd.read_csv("who.csv.gz")
    assert list(who) == ["annotator", "answers", "agreement", "low", "high", "confusions"]
    assert len(who) == 7
    assert who["agreement"].is_monotonic_increasing
    confusions = pd.read_csv("who-confusions.csv.gz")
    assert list(confusions) == ["annotator", "right", "given", "answers", "share"]
    assert set(who["annotator"]) == {"a0", "a1", "a2", "a3", "r0", "r1", "r2"}


@pytest.mark.parametrize("form", ["long", "wide", "wide with names"])
def test_clean_answers_without_features(run, crowd, form):
    table, options = "answers.csv", LONG
    if form != "long":
        said = pd.read_csv("wide.csv", dtype=str).drop(columns=["x", "y", "z", "truth"])
        said = said if form == "wide with names" else said.drop(columns="item")
        said.to_csv("said.csv", index=False)
        table, options = "said.csv", ["--candidates", "[ar]?", "--no-answer", "-1"]
    options = [*options, "--out", "c.csv", "--annotators-out", "who.csv"]
    _, err = run.succeeds("clean", table, *options)
    assert "no features: labels are chosen by the answers alone\n" in err
    assert "7 annotators judged by their answers alone (Dawid and Skene)\n" in err
    assert "confidence is empty: Dawid and Skene's model takes the annotators" in err
    cleaned = pd.read_csv("c.csv")
    if form == "long":  # the items in the order of their first answers
        assert list(cleaned)[:2] == ["item", "answers"]
        cleaned = cleaned.sort_values("item")
    votes = Votes.from_long(pd.read_csv("answers.csv"), items=item_names(60))
    posterior = dawid_skene(votes)
    assert cleaned["label"].to_list() == votes.classes[posterior.argmax(axis=1)].tolist()
    np.testing.assert_allclose(cleaned["score"], posterior.max(axis=1), atol=1e-2)
    assert (cleaned["label"] == crowd).mean() > 0.75
    assert cleaned["confidence"].isna().all()
    assert cleaned.sort_values("review_rank")["score"].is_monotonic_increasing
    assert pd.read_csv("who.csv")["annotator"].str.startswith("r").head(2).all()


def test_answers_without_features_keep_checked_labels(run, crowd):
    said = pd.read_csv("wide.csv", dtype=str).drop(columns=["x", "y", "z", "truth", "item"])
    said.to_csv("said.csv", index=False)
    text = "|".join(cell for cell in said.iloc[3].tolist() if cell != "-1")
    pd.DataFrame({"row": [3], "candidates": [text], "label": ["yak"]}).to_csv(
        "checked.csv", index=False
    )
    options = ["--candidates", "[ar]?", "--no-answer", "-1", "--checked", "checked.csv"]
    run.succeeds("clean", "said.csv", *options, "--out", "c.csv")
    row = pd.read_csv("c.csv").iloc[3]
    assert row[["label", "score", "doubt", "review_rank"]].to_list() == ["yak", 1, 0, 60]


@pytest.mark.parametrize("option", [["--method", "plcl"], ["--tune"], ["--no-weight-annotators"]])
def test_options_of_a_fit_need_features(run, crowd, option):
    err = run.fails("clean", "answers.csv", *LONG, *option, "--out", "c.csv", status=2)
    assert f"{option[0]} requires features" in err


@pytest.mark.parametrize("command", ["fit", "review"])
def test_a_fit_needs_features(run, crowd, command):
    pd.read_csv("wide.csv")[["a0", "a1", "r0"]].to_csv("said.csv", index=False)
    err = run.fails(command, "said.csv", "--candidates", "[ar]?", "--out", "c.html")
    assert "no column is left as a feature" in err
    err = run.fails(command, "answers.csv", *LONG, "--out", "c.html", status=2)
    assert "also need --features-from" in err


@pytest.mark.slow
def test_fit_answers_and_predict(run, crowd):
    options = ["--exclude", "truth", "--out", "m.model"]
    _, err = run.succeeds("fit", "answers.csv", *LONG, *FEATURES, *options)
    assert "7 annotators judged" in err
    assert run("predict", "m.model", "items.csv", "--out", "p.csv")[0] == 0
    predicted = pd.read_csv("p.csv")
    assert (predicted["label"] == crowd).mean() > 0.8
    assert predicted["confidence"].notna().all()


def test_select_with_nothing_left_to_choose(run, crowd):
    options = ["--exclude", "truth", "--tune", "--set", "n_neighbors=3", "--out", "c.csv"]
    err = run.fails("clean", "answers.csv", *LONG, *FEATURES, *options)
    assert "nothing left to choose" in err


@pytest.mark.parametrize(
    "option", [["--no-weight-annotators"], ["--min-votes", 2, "--fallback", "union"]]
)
def test_without_skills_votes_have_equal_weights(run, crowd, option):
    options = ["--exclude", "truth", "--out", "c.csv", *option]
    _, err = run.succeeds("clean", "answers.csv", *LONG, *FEATURES, *options)
    assert "judged" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["answers.csv", "--item", "item"], "also need --annotator, --answer, --features-from"),
        (["wide.csv", "--item", "item", "--candidates", "a?"], "also need --features-from"),
        (["answers.csv", *LONG, *FEATURES, "--candidates", "label"], "Use one or the other"),
        (["answers.csv"], "Missing option '--candidates'"),
        (["items.csv", "--candidates", "truth", "--weight-annotators"], "no annotators to judge"),
        (["answers.csv", *LONG, "--features-from", "nowhere.csv"], "nowhere.csv"),
        ([*WEIGHTED, "--min-votes", 2], "--weight-annotators and --min-votes cannot be combined"),
        ([*WEIGHTED, "--exclude", "truth", "--annotators-out", "w.doc"], "w.doc: tables are"),
        (
            [
                "answers.csv",
                *LONG,
                *FEATURES,
                "--no-weight-annotators",
                "--annotators-out",
                "w.csv",
            ],
            "--annotators-out requires --weight-annotators",
        ),
    ],
)
def test_errors_are_explained(run, crowd, arguments, message):
    status, _, err = run("clean", *arguments, "--out", "c.csv")
    assert status != 0
    assert message in re.sub(r"\s+", " ", err)


@pytest.mark.parametrize(("command", "out"), [("clean", "o.csv"), ("fit", "o.model")])
def test_formulas_of_annotators_are_escaped_on_request(run, command, out):
    rows = [f"{i % 2 * 9 + i / 7},{['=a', 'b'][i % 2]},{['=a', 'b'][i % 2]}" for i in range(12)]
    Path("t.csv").write_text("\n".join(["x,=ann,+ben", *rows, ""]))
    options = ["--candidates", "=ann", "--candidates", "+ben", "--method", "plknn"]
    options += ["--annotators-out", "w.csv", "--escape-formulas"]
    run.succeeds(command, "t.csv", *options, "--out", out)
    cells = set(pd.read_csv("w-confusions.csv")[["annotator", "right", "given"]].to_numpy().flat)
    assert {"'=ann", "'+ben", "'=a", "b"} == cells


def test_the_worst_annotators_with_enough_answers_are_first_and_others_summed_up(said):
    """Among 59 with more answers, and one who is always wrong in four."""
    answers = [(i, f"w{a:02d}", "cat") for i in range(30) for a in range(59)]
    answers += [(i, "half", "cat" if i % 2 else "dog") for i in range(24)]
    answers += [(i, "few", "dog") for i in range(4)]
    report = report_annotators(Votes.from_long(answers), ["cat"] * 30)
    lines = said(describe_annotators, report, "").splitlines()
    assert lines[0].startswith("61 annotators judged")
    assert lines[2].rstrip() == "half            24     50% (29%–71%)  cat → dog (12)"
    assert not any(line.startswith("few ") for line in lines)
    assert lines[-1].startswith("and 51 more, who agree with the result in 0% to 100% of their")
