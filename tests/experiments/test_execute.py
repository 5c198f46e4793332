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

import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

import ambilearn
from ambilearn.experiments import execute as module
from ambilearn.experiments.execute import environment, execute
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


def test_repeated_executions_are_equal():
    first, second = execute(TASK), execute(TASK)
    assert first.scores == second.scores
    assert first.details == second.details


def test_a_failure_becomes_a_result_with_the_error():
    result = execute(TASK.to(candidates={"p": 7.0}))
    assert result.status == "failed"
    assert result.scores == {}
    assert "Traceback" in result.error
    assert "p must be a number between 0 and 1" in result.error


def test_a_missing_data_file_is_a_failed_task(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("AMBILEARN_DATA", raising=False)
    result = execute(Task("lost", "PLKNN", 0), str(tmp_path))
    assert result.status == "failed"
    assert "DataNotFoundError" in result.error


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


def test_without_git_there_is_no_commit(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.__wrapped__()["commit"] is None  # not the one found before


def commit_seen_by(package_parent):
    code = "from ambilearn.experiments.execute import environment; print(environment()['commit'])"
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
