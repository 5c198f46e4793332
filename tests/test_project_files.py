"""The files around the package agree with it and with each other."""

import re
import tomllib

import yaml
from markdown_pages import ROOT

import ambilearn

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = {path.stem: path for path in (ROOT / ".github" / "workflows").glob("*.yml")}


def _load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _jobs():
    return {name: job for path in WORKFLOWS.values() for name, job in _load(path)["jobs"].items()}


def test_pythons_are_the_same_everywhere():
    classifiers = PROJECT["project"]["classifiers"]
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    assert _jobs()["test"]["strategy"]["matrix"]["python"] == classified
    assert PROJECT["project"]["requires-python"] == f">={classified[0]}"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{classified[0].replace('.', '')}"


def test_the_oldest_dependencies_are_tested_on_the_oldest_python():
    (setup,) = (step for step in _jobs()["oldest"]["steps"] if "setup-python" in str(step))
    assert PROJECT["project"]["requires-python"] == f">={setup['with']['python-version']}"


def test_only_the_job_that_publishes_has_a_token():
    allowed = {name for name, job in _jobs().items() if "id-token" in job.get("permissions", {})}
    assert allowed == {"publish"}
    for path in WORKFLOWS.values():
        assert _load(path)["permissions"] in ({}, {"contents": "read"})


def test_every_job_counts():
    """The check that pull requests need waits for all others."""
    jobs = _load(WORKFLOWS["ci"])["jobs"]
    assert set(jobs["passed"]["needs"]) == set(jobs) - {"passed"}


def test_every_private_module_of_methods_is_protected():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (protected,) = (each["protected_modules"] for each in contracts if each["type"] == "protected")
    files = (ROOT / "src" / "ambilearn" / "methods").glob("_[a-z]*.py")
    assert sorted(protected) == sorted(f"ambilearn.methods.{path.stem}" for path in files)


def test_workflows_call_targets_that_exist():
    called = re.findall(r"run: make (\S+)", WORKFLOWS["ci"].read_text(encoding="utf-8"))
    assert {"lint", "docs"} <= set(called) <= _targets()


def test_help_names_every_target():
    named = set(re.findall(r'@echo "make (\S+)', MAKEFILE))
    assert named == _targets() - {"help"}


def _targets():
    return set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.M)[1].split())


def test_citation_has_the_version():
    assert _load(ROOT / "CITATION.cff")["version"] == ambilearn.__version__


def test_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", text, re.M)[1]
    assert newest == ("Unreleased" if "dev" in ambilearn.__version__ else ambilearn.__version__)


def test_sdist_leaves_nothing_out():
    """Hatch says nothing of an entry that it does not find."""
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((ROOT / name.lstrip("/")).exists() for name in included)


def test_the_layout_lists_all_packages():
    """In CONTRIBUTING.md, with the modules beside them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\w+)(?:/|\.py) ", text, re.M)
    source = ROOT / "src" / "ambilearn"
    found = {path.parent.name for path in source.glob("*/__init__.py")}
    found |= {path.stem for path in source.glob("*.py") if not path.stem.startswith("__")}
    assert sorted(listed) == sorted(found)
