import pytest

from ambilearn.registry import METHODS, installed_methods
from ambilearn.tables.methods import (
    DEFAULT_N_LANDMARKS,
    MAX_EXACT_ROWS,
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


@pytest.mark.parametrize("name", ["ipal", "plda", "plknn"])
def test_no_landmarks_where_there_is_no_kernel(name):
    assert "n_landmarks" not in make_method(name, n_rows=MAX_EXACT_ROWS).get_params()


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


def test_a_parameter_is_set_once():
    with pytest.raises(ValueError, match="'reg' is given twice: omit one"):
        parse_settings(["reg=0.1", "mu=1", " reg =0.2"])


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
