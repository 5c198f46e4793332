from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from markdown_pages import ROOT

from ambilearn import as_candidates
from ambilearn.kernel import MAX_DENSE_LABELS
from ambilearn.registry import METHODS, installed_methods
from ambilearn.tables import fit_table, read_candidate_table
from ambilearn.tables.methods import (
    DEFAULT_N_LANDMARKS,
    MAX_EXACT_ROWS,
    MAX_STACKED_ROWS,
    choose_default,
    make_method,
    parse_settings,
)


@pytest.mark.parametrize("name", installed_methods())
def test_every_method_is_made_and_its_grid_is_valid(name):
    assert type(make_method(name)) is METHODS[name].load()
    # Of a vote of methods every choice that was tried without true labels made it worse.
    assert bool(METHODS[name].tuning_grid) == (
        name not in ("deepplcl", "plvoting", "forest", "boosting")
    )
    for key, values in METHODS[name].tuning_grid.items():
        for value in values:
            make_method(name, {key: value})


def test_parameters_and_seed():
    method = make_method("plcl", {"n_neighbors": 3, "kernel": "linear"}, random_state=7)
    assert (method.n_neighbors, method.kernel, method.random_state) == (3, "linear", 7)
    assert make_method("plcl", {"random_state": 1}, random_state=7).random_state == 1


@pytest.mark.parametrize("name", ["plcl", "sure", "plaggd", "lalo"])
def test_landmarks_for_large_tables_by_default(name):
    assert make_method(name, n_rows=MAX_EXACT_ROWS - 1).n_landmarks is None
    assert make_method(name, n_rows=MAX_EXACT_ROWS).n_landmarks == DEFAULT_N_LANDMARKS
    assert make_method(name, {"n_landmarks": None}, n_rows=MAX_EXACT_ROWS).n_landmarks is None
    assert make_method(name, {"n_landmarks": 50}, n_rows=10).n_landmarks == 50


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("svm", {}, "no method 'svm'. The methods are: .*DeepPLCL, "),
        ("plcl", {"n_neighbours": 5}, "no parameter 'n_neighbours'. Did you mean 'n_neighbors'"),
        ("plknn", {"n_landmarks": 5}, "plknn has no parameter 'n_landmarks'"),
        ("plcp", {"kappa__reg": 0.1}, "plcp has no parameter 'kappa__reg'"),
        ("plknn", {"n_neighbors": 0}, "'n_neighbors' parameter of PLKNN must be"),
        ("plcl", {"kernel": "magic"}, "'kernel' parameter of PLCL must be"),
    ],
)
def test_errors(name, params, message):
    with pytest.raises(ValueError, match=message):
        make_method(name, params)


def test_settings():
    assert parse_settings(["a=1", "b=1.5", "c=True", "d=none", "e=rbf", "f=x=y", " g = 2 "]) == {
        "a": 1, "b": 1.5, "c": True, "d": None, "e": "rbf", "f": "x=y", "g": 2,
    }  # fmt: skip


@pytest.mark.parametrize("setting", ["a", "=1", "", " = 2"])
def test_settings_need_a_name_and_a_value(setting):
    with pytest.raises(ValueError, match="NAME=VALUE"):
        parse_settings([setting])


def test_members_of_a_stack_are_reached_by_their_names():
    stack = make_method(
        "plstacking", {"plcl__reg": 0.1, "sure": "drop", "final_estimator__restore_mass": 0.0}
    )
    assert dict(stack.estimators)["plcl"].reg == 0.1
    assert dict(stack.estimators)["sure"] == "drop"
    assert stack.final_estimator.restore_mass == 0.0


@pytest.mark.parametrize("key", ["plcl__foo", "foo__reg", "restore_mass", "passthrough__x"])
def test_a_parameter_that_no_member_has_is_rejected(key):
    with pytest.raises(ValueError, match=r"foo|no parameter"):
        make_method("plstacking", {key: 1})


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
    monkeypatch.setattr("ambilearn.tables.methods.MAX_STACKED_ROWS", 60)
    assert choose_default(table) == ("plstacking", "up to 60 rows")
    monkeypatch.setattr("ambilearn.tables.methods.MAX_STACKED_ROWS", 59)
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


def test_answers_choose_parameters_that_plcl_has(votes):
    assert choose_default(votes).name == "plstacking"
    reason = "where answers of annotators choose its parameters"
    assert choose_default(votes, tune=True) == ("plcl", reason)


def test_an_unknown_parameter_is_not_called_one_of_plcl(table):
    assert choose_default(table, {"foo": 1}).name == "plstacking"
    assert choose_default(table, {"plcl__reg": 0.1}).name == "plstacking"
    assert choose_default(table, {"reg": 0.1}).name == "plcl"
