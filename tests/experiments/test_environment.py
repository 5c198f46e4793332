import json
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import ambilearn
from ambilearn.experiments.environment import environment


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
    code = (
        "from ambilearn.experiments.environment import environment; print(environment()['commit'])"
    )
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
