from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from markdown_pages import ROOT
from sentences import make_sentences

from ambilearn import as_candidates
from ambilearn.kernel.landmarks import MAX_DENSE_LABELS
from ambilearn.tables import clean_table, fit_table, judge_table, read_candidate_table
from ambilearn.tables.default_method import MAX_STACKED_ROWS, choose_default
from ambilearn.tables.methods import MAX_EXACT_ROWS


@pytest.fixture
def table(people):
    return read_candidate_table(people, candidates="names", exclude=["truth"])


@pytest.fixture
def votes():
    """Rows labeled by three annotators, two of whom are right."""
    rng = np.random.default_rng(0)
    truth = np.arange(30) % 3
    right = np.array(list("pqr"))[truth]
    frame = pd.DataFrame({"x": truth * 9 + rng.normal(size=30), "a": right, "b": right})
    frame["c"] = np.where(rng.random(30) < 0.3, "p", right)
    return read_candidate_table(frame, candidates=["a", "b", "c"])


def test_a_stack_up_to_the_limit_and_plcl_above(table, monkeypatch):
    assert choose_default(table) == ("plstacking", "up to 10 000 rows")
    monkeypatch.setattr("ambilearn.tables.default_method.MAX_STACKED_ROWS", 60)
    assert choose_default(table) == ("plstacking", "up to 60 rows")
    monkeypatch.setattr("ambilearn.tables.default_method.MAX_STACKED_ROWS", 59)
    assert choose_default(table) == ("plcl", "above 59 rows")


def test_the_pages_name_the_limit():
    limit = choose_default.__doc__.partition("up to ")[2].partition(" rows")[0]
    assert int(limit.replace(" ", "")) == MAX_STACKED_ROWS
    for page in ("docs/guide/methods.md", "docs/guide/own-data.md", "docs/guide/stacking.md"):
        assert f"{limit} rows" in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_a_stack_is_always_exact():
    """Its accuracy with landmarks was not measured."""
    assert MAX_STACKED_ROWS < MAX_EXACT_ROWS


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"params": {"n_neighbors": 3}}, "where its parameter n_neighbors is given"),
        ({"params": {"n_landmarks": 5, "mu": 1}}, "where its parameter mu is given"),
    ],
)
def test_what_a_stack_cannot_do_plcl_does(table, options, reason):
    assert choose_default(table, **options) == ("plcl", reason)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"tune": True}, marks=pytest.mark.slow),
        {"params": {"n_landmarks": 5}},
        {"params": {"passthrough": False, "random_state": 1}},
    ],
)
def test_what_a_stack_can_do_it_does(table, options):
    assert choose_default(table, **options).name == "plstacking"
    fitted = fit_table(table, **options).method
    assert type(fitted).__name__ == "PLStacking"
    assert options.get("params", {}).items() <= fitted.get_params(deep=False).items()


def test_outputs_of_very_many_labels_are_no_features(table):
    many = as_candidates([{i} for i in range(MAX_DENSE_LABELS + 1)])
    assert choose_default(replace(table, candidates=many)) == ("plcl", "above 1000 labels")
    fewer = as_candidates([{i} for i in range(MAX_DENSE_LABELS)])
    assert choose_default(replace(table, candidates=fewer)).name == "plstacking"


def test_for_sentences_plcl_is_the_default():
    frame = make_sentences(40)
    options = {"candidates": "mood", "exclude": ["truth"]}
    table = read_candidate_table(frame, **options)
    assert choose_default(table) == ("plcl", "for sentences")
    frame["length"] = frame["review"].str.len().astype(str)
    others = read_candidate_table(frame, **options, features=["length"])
    assert choose_default(others).name == "plstacking"  # the text is no feature


def test_answers_choose_parameters_that_plcl_has(votes):
    assert choose_default(votes).name == "plstacking"
    reason = "where answers of annotators choose its parameters"
    assert choose_default(votes, tune=True) == ("plcl", reason)


@pytest.mark.slow
def test_annotators_are_judged_by_the_rule(votes):
    assert list(judge_table(votes, tune=True).chosen) == ["reg"]
    judge_table(votes, params={"passthrough": False})  # only a stack has it
    judge_table(votes, params={"reg": 0.1})
    with pytest.raises(ValueError, match="plcl has no parameter 'passthrough'"):
        judge_table(votes, "plcl", {"passthrough": False})


def test_functions_follow_the_rule(table):
    named = clean_table(table, "plstacking")
    cleaned = clean_table(table)
    assert cleaned.model.about["method"] == "plstacking"
    np.testing.assert_array_equal(cleaned.pair_scores, named.pair_scores)
    assert fit_table(table, params={"reg": 0.1}).about["method"] == "plcl"


def test_an_unknown_parameter_is_not_called_one_of_plcl(table):
    assert choose_default(table, {"foo": 1}).name == "plstacking"
    assert choose_default(table, {"plcl__reg": 0.1}).name == "plstacking"
    assert choose_default(table, {"reg": 0.1}).name == "plcl"
