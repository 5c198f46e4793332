import os
import subprocess
import sys

import pytest
from core_methods import CORE_METHODS

from ambilearn.experiments.task import Task, default_params, derive_seed, digest
from ambilearn.registry import find_method


@pytest.fixture
def task():
    return Task("iris", "PLCL", 0, candidates={"p": 0.5, "r": 1})


@pytest.mark.parametrize(
    "change",
    [
        {"data": "wine"},
        {"method": "PLKNN"},
        {"run": 1},
        {"params": {"alpha": 2.0}},
        {"candidates": {"p": 0.6, "r": 1}},
        {"candidates": None},
        {"scaling": "train"},
        {"test_share": 0.3},
        {"rows": 50},
        {"select": "oracle"},
        {"search": {"kind": "grid"}},
    ],
)
def test_everything_that_defines_a_task_is_in_its_key(task, change):
    assert task.to(**change).key != task.key


def test_equal_tasks_have_equal_keys(task):
    assert task.to().key == task.key
    assert task.to(candidates={"r": 1, "p": 0.5}).key == task.key


def test_an_explicit_default_gives_the_same_task(task):
    assert task.to(params={"alpha": 0.5}).key == task.key


def test_the_definition_names_all_parameters_so_that_new_defaults_are_new_tasks(task, monkeypatch):
    params = task.definition["params"]
    assert params["alpha"] == 0.5
    assert params["max_iter"] == 100
    assert "verbose" not in params
    old = task.key
    default_params.cache_clear()
    cls = find_method("PLCL").load()
    monkeypatch.setitem(cls.__init__.__kwdefaults__, "alpha", 0.25)
    assert task.to().key != old
    monkeypatch.undo()
    default_params.cache_clear()
    assert task.to().key == old


def test_the_estimator_has_the_parameters(task):
    model = task.to(params={"alpha": 3.0}).estimator()
    assert type(model).__name__ == "PLCL"
    assert model.alpha == 3.0


def test_unknown_methods_and_parameters_are_rejected(task):
    with pytest.raises(ValueError, match="no method 'NOPE'"):
        _ = task.to(method="NOPE").key
    with pytest.raises(ValueError, match="PLCL has no parameter 'alfa'"):
        _ = task.to(params={"alfa": 1}).key


@pytest.mark.parametrize("name", CORE_METHODS)
def test_every_method_has_a_plain_definition(name):
    for value in default_params(name).values():
        assert isinstance(value, (str, int, float, bool, type(None)))


def test_seeds_depend_on_every_name_and_on_their_order():
    seeds = {
        derive_seed("split", "lost", 0),
        derive_seed("split", "lost", 1),
        derive_seed("split", "iris", 0),
        derive_seed("candidates", "lost", 0),
        derive_seed("lost", "split", 0),
        derive_seed("split", "lost", "0"),
        derive_seed("split", "lost"),
    }
    assert len(seeds) == 7


def test_seeds_are_the_same_in_another_process():
    code = (
        "from ambilearn.experiments.task import derive_seed\nprint(derive_seed('a', {'p': 0.1}, 3))"
    )
    other = os.environ | {"PYTHONHASHSEED": "1"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=other)
    assert int(ran.stdout) == derive_seed("a", {"p": 0.1}, 3)


def test_the_order_of_a_dictionary_does_not_matter():
    assert digest({"a": 1, "b": [2, None]}) == digest({"b": [2, None], "a": 1})
    assert digest({"a": 1}) != digest({"a": 1.5})


def test_values_without_canonical_json_are_rejected():
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"a": float("nan")})
    with pytest.raises(TypeError):
        digest({"a": {1, 2}})
