"""Mutants: what is changed, where, and which tests run."""

import ast
import sys

import pytest
from mutants import all_mutants, changes, covering_tests, find_again, try_mutant

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tool forks as Unix does")

SOURCE = '''"""A module."""

LIMIT = 3


def share(n: int, total=1) -> float:
    """Not negative."""
    if not n >= 0:
        raise ValueError(f"n is {n + 1}")
    return n / total
'''
TESTS = """
from ambilearn.base import share

def test_share():
    assert share(1, 2) == 0.5

def test_zero():
    assert share(0) == 0
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a < b", ["(a <= b)"]),
        ("a is None", ["(a is not None)"]),
        ("a + b", ["(a - b)"]),
        ("a and b", ["(a or b)"]),
        ("not a", ["(a)"]),
        ("-a", ["(a)"]),
        ("True", ["False"]),
        ("1", ["(2)", "(0)"]),
        ("0.5", ["(1.5)", "(-0.5)"]),
        ("a @ b", []),
        ("'text'", []),
    ],
)
def test_changes_of_expressions(code, expected):
    assert list(changes(ast.parse(code, mode="eval").body)) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [("return a", ["return None"]), ("return", []), ("a += b", ["pass"]), ("f(a)", ["pass"])],
)
def test_changes_of_statements(code, expected):
    assert list(changes(ast.parse(code).body[0])) == expected


@pytest.fixture
def project(tmp_path):
    """A project whose core is one function."""
    (tmp_path / "src" / "ambilearn").mkdir(parents=True)
    (tmp_path / "src" / "ambilearn" / "__init__.py").touch()
    (tmp_path / "src" / "ambilearn" / "base.py").write_text(SOURCE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_base.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return tmp_path


def test_mutants_are_in_function_bodies_but_not_in_messages(project):
    found = [(mutant["old"], mutant["new"]) for mutant in all_mutants(project)]
    assert found == [
        ("not n >= 0", "(n >= 0)"),
        ("n >= 0", "(n > 0)"),
        ("0", "(1)"),
        ("0", "(-1)"),
        ("return n / total", "return None"),
        ("n / total", "(n * total)"),
    ]


def test_a_mutant_is_found_again_after_a_change_of_the_source(project):
    before = all_mutants(project)
    file = project / "src" / "ambilearn" / "base.py"
    file.write_text(SOURCE.replace("LIMIT = 3\n", "").replace("n / total", "n * total"))
    after = all_mutants(project)
    line = before[1]["line"] - 1
    assert find_again(before[1], after) == before[1] | {"line": line, "last_line": line}
    assert find_again(before[-1], after) is None


def test_tests_of_the_mirrored_file_come_first():
    class Coverage:
        def contexts_by_lineno(self, file):
            assert file == "src/ambilearn/methods/_votes.py"
            names = ["tests/a.py::test", "tests/methods/test_b.py::test"]
            names += ["tests/methods/test_votes.py::test"]
            return {3: [f"{name}|run" for name in names], 4: ["tests/c.py::test|run", ""]}

    mutant = {"file": "src/ambilearn/methods/_votes.py", "line": 3, "last_line": 3}
    names = ["tests/methods/test_votes.py", "tests/methods/test_b.py", "tests/a.py"]
    assert covering_tests(Coverage(), mutant) == [f"{name}::test" for name in names]


@pytest.mark.slow
def test_a_mutant_is_killed_by_the_first_test_that_fails_and_may_survive(project, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # which takes the most time
    tests = ["tests/test_base.py::test_zero", "tests/test_base.py::test_share"]
    *_, times = all_mutants(project)
    again = try_mutant(project, times, tests[:1], first=tests[1])
    assert (again["outcome"], again["killed_by"]) == ("killed", tests[1])
    gone = try_mutant(project, times, tests, first="tests/test_base.py::test_gone")
    assert (gone["outcome"], gone["killed_by"]) == ("killed", tests[1])
    assert try_mutant(project, times, tests[:1], None)["outcome"] == "survived"
    assert try_mutant(project, times, [], None)["outcome"] == "not covered"
    assert (project / "src" / "ambilearn" / "base.py").read_text() == SOURCE
