import json
import os
import platform
import re
import shutil
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

import ambilearn
from ambilearn import selection
from ambilearn.experiments import run as module
from ambilearn.experiments.run import choose, environment, execute
from ambilearn.experiments.splits import make_split
from ambilearn.experiments.task import Task

TASK = Task("iris", "PLCL", 0, candidates={"p": 0.5}, rows=60)


def test_result_equals_a_direct_fit():
    split = make_split(TASK)
    model = TASK.estimator().fit(split.X_train, split.candidates)
    result = execute(TASK)
    assert (result.status, result.error) == ("done", "")
    assert result.key == TASK.key
    assert result.task == TASK.definition
    assert result.scores["accuracy"] == model.score(split.X_test, split.y_test)
    assert result.details["n_iter"] == model.n_iter_
    assert result.details["objective"] == pytest.approx(model.objective_.tolist(), rel=1e-9)
    assert result.seconds > 0


def test_a_failure_becomes_a_result_with_the_error():
    result = execute(TASK.to(candidates={"p": 7.0}))
    assert result.status == "failed"
    assert result.scores == {}
    assert "Traceback" in result.error
    assert "p must be a number between 0 and 1" in result.error


def test_warnings_are_stored_and_not_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = execute(TASK.to(params={"max_iter": 1}))
    assert result.status == "done"
    (warning,) = result.details["warnings"]
    assert warning.startswith(ConvergenceWarning.__name__)
    assert execute(TASK).details["warnings"] == []


def test_execution_uses_one_thread(monkeypatch):
    seen = []

    def look(task, data_home):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return {}, {}

    monkeypatch.setattr(module, "_fit_and_measure", look)
    if not threadpool_info():
        pytest.skip("threadpoolctl knows no library with threads here")
    with threadpool_limits(3):
        assert execute(TASK).status == "done"
    assert set(seen) == {1}


def test_the_environment_has_versions_commit_and_machine():
    found = environment()
    assert found["python"] == platform.python_version()
    assert found["versions"]["numpy"] == version("numpy")
    assert {"ambilearn", "scipy", "scikit-learn", "joblib"} <= set(found["versions"])
    assert found["host"] == platform.node()
    assert json.loads(json.dumps(found)) == found


def commit_seen_by(package_parent):
    code = "from ambilearn.experiments.run import environment; print(environment()['commit'])"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=package_parent,
    )
    return ran.stdout.strip()


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    # Without the settings of whoever runs the tests, such as signed commits or hooks.
    alone = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *identity, *arguments]
    subprocess.run(command, cwd=folder, env=alone, check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_and_whether_the_code_was_changed(tmp_path):
    source = Path(ambilearn.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, tmp_path / "ambilearn", ignore=ignore)
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("__pycache__\n")
    assert commit_seen_by(tmp_path) == "None"  # lies in a checkout, but is no part of it
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "all")
    assert re.fullmatch(r"[0-9a-f]{12}", commit_seen_by(tmp_path))
    (tmp_path / "ambilearn" / "new.py").write_text("")
    assert re.fullmatch(r"[0-9a-f]{12}\+", commit_seen_by(tmp_path))


# ---- choice of parameters

GRID = {"reg": [0.01, 0.05, 1.0], "lam": [0.0, 0.3]}
SEARCH = {"kind": "random", "points": 3, "scoring": "approximated", "grid": GRID, "seed": 0}
CHOICE = Task("wine", "SURE", 0, candidates={"p": 0.9}, rows=40, select="label-free", search=SEARCH)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "fits"), [("random", 15), ("halving", 8), ("grid", 30)])
def test_label_free_choice_is_a_point_of_the_grid(kind, fits):
    search = SEARCH | {"kind": kind, "points": None if kind == "grid" else 3}
    task = CHOICE.to(search=search)
    split = make_split(task)
    params, account = choose(task, split)
    assert all(params[name] in GRID[name] for name in GRID)
    assert account["points"] == (6 if kind == "grid" else 3)
    assert account["fits"] == fits
    rng = np.random.default_rng(0)  # hidden and test labels do not matter
    other = {name: rng.permutation(getattr(split, name)) for name in ("y_train", "y_test")}
    assert choose(task, split._replace(**other)) == (params, account)


@pytest.fixture
def points_seen(monkeypatch):
    """Points that a task tries, in their order."""
    real = selection.fit_points

    def of(task):
        seen = []

        def watch(model, points, *rows):
            seen.extend(points)
            return real(model, points, *rows)

        monkeypatch.setattr(module, "fit_points", watch)
        monkeypatch.setattr(selection, "fit_points", watch)
        assert execute(task).status == "done"
        return seen[: task.search["points"]]

    return of


@pytest.mark.slow
def test_all_selections_and_runs_use_the_same_points(points_seen):
    """Else an oracle could be beaten, and had no one point for all runs."""
    tasks = [CHOICE, CHOICE.to(run=1), CHOICE.to(select="oracle")]
    first, *others = [points_seen(task) for task in tasks]
    assert others == [first] * 2
    assert first[0] == {"reg": 0.05, "lam": 0.3}  # the current parameters
    assert len({tuple(point.values()) for point in first}) == 3
    assert points_seen(CHOICE.to(search=SEARCH | {"seed": 1})) != first


@pytest.mark.slow
def test_the_result_has_the_chosen_parameters():
    result = execute(CHOICE)
    fixed = execute(CHOICE.to(select="fixed", search={}, params=result.details["chosen"]))
    assert fixed.scores == result.scores
    assert result.details["search"]["points"] == 3


@pytest.mark.slow
def test_the_scoring_is_that_of_the_search():
    scores = {}
    for scoring in ("approximated", "covering"):
        task = CHOICE.to(search=SEARCH | {"scoring": scoring, "points": 1})
        scores[scoring] = choose(task, make_split(task))[1]["score"]
    assert scores["approximated"] < scores["covering"]


@pytest.mark.slow
def test_an_oracle_keeps_every_point_and_chooses_by_the_test_labels():
    grid = {"reg": [0.01, 0.03, 1.0], "mu": [0.0, 1.0]}
    task = CHOICE.to(method="PLCL", select="oracle", search=SEARCH | {"grid": grid, "points": None})
    result = execute(task)
    assert result.status == "done", result.error
    tried = result.details["tried"]
    assert len({tuple(point["params"].values()) for point in tried}) == 6
    for point in tried:
        alone = execute(task.to(select="fixed", search={}, params=point["params"])).scores
        assert point["scores"] == {name: alone[name] for name in point["scores"]}
    best = max(point["scores"]["accuracy"] for point in tried)
    assert result.scores["accuracy"] == best
    assert {"params": result.details["chosen"], "scores": result.scores} in tried
    assert result.details["search"] == {"points": 6, "fits": 6, "score": best}
