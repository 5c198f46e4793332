"""Change the core at random places, and check that a test fails for each change.

First record which test runs which line, then draw mutants and run the tests of their lines::

    python tools/mutants.py record            # all tests, or: record tests/solvers tests/methods …
    python tools/mutants.py run before.jsonl --number 200 --seed 0
    python tools/mutants.py run after.jsonl --same-as before.jsonl

Each line of the result is one mutant: what was changed, how many tests run this line, and which
test failed. The tests are those that mirror the changed file first, then the others, until one
fails. ``--same-as`` repeats the mutants of an earlier result, for instance after a change of the
tests: the test that failed then runs first, the others only if it no longer fails. If the source
has changed, a mutant is the same change of the same line in a function of the same name; its
outcome is "gone" if there is none.

All work happens in a copy of the project. Needs Unix, coverage and pytest-cov (``make install``
and the extra ``dev``).
"""

import argparse
import ast
import gc
import json
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("src/ambilearn")
CORE = ("backend", "candidates", "graph", "kernel", "methods", "solvers", "base.py")
LEFT_OUT = (".git", ".venv*", "out", "__pycache__", "*_cache")
RECORD = Path("out/mutants")  # coverage.sqlite, and red.json with the tests that failed anyway
TIMEOUT = 900  # seconds; a mutant that takes longer does not end

SWAPPED: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult},
}


def changes(node: ast.AST) -> Iterator[str]:
    """Texts that may replace a node."""
    match node:
        case ast.Compare(left, [operator, *operators], operands) if type(operator) in SWAPPED:
            yield _text(ast.Compare(left, [SWAPPED[type(operator)](), *operators], operands))
        case ast.BinOp(left, operator, right) if type(operator) in SWAPPED:
            yield _text(ast.BinOp(left, SWAPPED[type(operator)](), right))
        case ast.BoolOp(operator, values):
            yield _text(ast.BoolOp(SWAPPED[type(operator)](), values))
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield _text(operand)
        case ast.Constant(bool(value)):
            yield str(not value)
        case ast.Constant(int(value) | float(value)):
            yield from (f"({value + 1!r})", f"({value - 1!r})")
        case ast.Return(ast.expr()):
            yield "return None"
        case ast.AugAssign() | ast.Expr(ast.Call()):
            yield "pass"


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _places(node: ast.AST, within: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Nodes of function bodies, without annotations, defaults, messages and docstrings.

    Each with the name of its function.
    """
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert)):
        return
    if within:
        yield within, node
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        within = getattr(node, "name", within or "<lambda>")
    body = node.body if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node)
    for child in body:
        if not isinstance(child, ast.arguments):
            yield from _places(child, within)


def all_mutants(root: Path) -> list[dict[str, Any]]:
    """Every possible mutant of the core, in a fixed order."""
    found = []
    for file in sorted((root / SOURCE).rglob("*.py")):
        if file.relative_to(root / SOURCE).parts[0] not in CORE:
            continue
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        for within, node in _places(ast.parse(text)):
            for new in changes(node):
                mutant = {"file": file.relative_to(root).as_posix(), "line": node.lineno}
                line = lines[node.lineno - 1].lstrip()
                indent = len(lines[node.lineno - 1]) - len(line)
                mutant |= {"within": within, "text": line}
                mutant |= {"place": node.col_offset - indent}
                mutant |= {"column": node.col_offset, "last_line": node.end_lineno}
                old = ast.get_source_segment(text, node)
                found.append(mutant | {"end": node.end_col_offset, "old": old, "new": new})
    return found


def mutate(text: str, mutant: dict[str, Any]) -> str:
    """The source with the mutant's text in its place."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    first, last = mutant["line"] - 1, mutant["last_line"] - 1
    start = lines[first][: mutant["column"]]
    end = lines[last][mutant["end"] :]
    lines[first : last + 1] = [start + mutant["new"].encode() + end]
    return b"".join(lines).decode()


def find_again(mutant: dict[str, Any], mutants: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The same change of the same line in a function of the same name, preferably of its file."""
    keys = ("within", "text", "place", "old", "new")
    same = [other for other in mutants if all(other[key] == mutant[key] for key in keys)]
    return min(same, key=lambda other: other["file"] != mutant["file"], default=None)


def covering_tests(coverage: Any, mutant: dict[str, Any]) -> list[str]:
    """Tests that run the mutant's lines: of the mirrored file, of its folder, then the others."""
    by_line = coverage.contexts_by_lineno(mutant["file"])
    lines = range(mutant["line"], mutant["last_line"] + 1)
    names = {context for line in lines for context in by_line.get(line, ()) if "::" in context}
    tests = sorted({name.rpartition("|")[0] for name in names})
    below = Path(mutant["file"]).relative_to(SOURCE)
    folder = f"tests/{below.parent.as_posix()}/".replace("/./", "/")
    mirrored = f"{folder}test_{below.stem.lstrip('_')}.py"
    return sorted(tests, key=lambda t: (not t.startswith(mirrored), not t.startswith(folder)))


def _pytest(root: Path, arguments: list[str], log: Path) -> None:
    """Run pytest on the copy; in a process of its own, which ends with pytest's exit status."""
    import pytest

    gc.freeze()  # objects of the parent may wait for its threads when they are finalized
    os.chdir(root)
    sys.stdout = sys.stderr = log.open("w", buffering=1)
    os.dup2(sys.stdout.fileno(), 1)
    os.dup2(sys.stdout.fileno(), 2)
    for name in [name for name in sys.modules if name.partition(".")[0] == "ambilearn"]:
        del sys.modules[name]
    sys.path[:0] = [str(root / "src")]
    os.environ.update(PYTHONPATH=str(root / "src"), PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    os._exit(int(pytest.main(arguments)))


def run_tests(
    root: Path, arguments: list[str], timeout: float | None = None
) -> tuple[int | None, list[str]]:
    """Pytest's exit status, None after too long a time, and the tests that failed."""
    log = root / "log.txt"
    # Forked, so that NumPy and scikit-learn, which never change, are imported once.
    process = multiprocessing.get_context("fork").Process(
        target=_pytest, args=(root, arguments, log)
    )
    process.start()
    process.join(timeout)
    status = process.exitcode
    process.kill()
    process.join()
    return status, re.findall(r"^(?:FAILED|ERROR) (\S+(?: \S+\])?)", log.read_text(), re.MULTILINE)


def try_mutant(
    root: Path, mutant: dict[str, Any], tests: list[str], first: str | None
) -> dict[str, Any]:
    """Run the tests on a mutant until one fails, the given one first."""
    file = root / mutant["file"]
    original = file.read_text(encoding="utf-8")
    began, status, failed = perf_counter(), 0, []
    file.write_text(mutate(original, mutant), encoding="utf-8")
    try:
        for batch in ([first] if first else [], tests):
            if batch and status in (0, 4, 5):  # 4 and 5: the test does not exist any more
                options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", *batch]
                status, failed = run_tests(root, options, TIMEOUT)
    finally:
        file.write_text(original, encoding="utf-8")
    outcome = {None: "timeout", 0: "survived"}.get(status, "killed")
    return {
        **mutant,
        "outcome": outcome if tests else "not covered",
        "killed_by": failed[0] if failed else None,
        "tests": len(tests),
        "seconds": round(perf_counter() - began, 1),
    }


def record(root: Path, arguments: list[str]) -> None:
    """Run tests once, and keep which of them run which line, and which fail without a mutant."""
    # Without branches, which take twice the time.
    (root / "coverage.ini").write_text("[run]\nsource = ambilearn\nrelative_files = true\n")
    options = ["--cov", "--cov-config=coverage.ini", "--cov-context=test", "--cov-report="]
    status, red = run_tests(root, ["-q", "-rfE", *options, *arguments])
    print(f"pytest ended with status {status}; {len(red)} tests failed without a mutant")
    RECORD.mkdir(parents=True, exist_ok=True)
    shutil.copy(root / ".coverage", RECORD / "coverage.sqlite")
    (RECORD / "red.json").write_text(json.dumps(red))


def run(root: Path, options: argparse.Namespace) -> None:
    """Try the mutants, one line of the result each; those that it has already are left out."""
    from coverage import CoverageData

    red = set(json.loads((RECORD / "red.json").read_text()))
    coverage = CoverageData(str(RECORD / "coverage.sqlite"))
    coverage.read()
    present = all_mutants(root)
    if options.same_as:
        mutants = [json.loads(line) for line in options.same_as.read_text().splitlines()]
    else:
        mutants = random.Random(options.seed).sample(present, options.number)
    n_done = len(options.result.read_text().splitlines()) if options.result.exists() else 0
    for mutant in mutants[n_done:]:
        found = find_again(mutant, present)
        if found is None:
            outcome = mutant | {"outcome": "gone", "killed_by": None}
        else:
            tests = covering_tests(coverage, found)
            tests = [test for test in tests if test not in red]
            outcome = try_mutant(root, found, tests, mutant.get("killed_by"))
        with options.result.open("a", encoding="utf-8") as file:
            file.write(json.dumps(outcome) + "\n")
        keys = ("outcome", "file", "line", "old", "new", "killed_by")
        print(*(outcome[key] for key in keys), flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("tests", nargs=argparse.REMAINDER)
    runner = commands.add_parser("run")
    runner.add_argument("result", type=Path)
    runner.add_argument("--number", type=int, default=200)
    runner.add_argument("--seed", type=int, default=0)
    runner.add_argument("--same-as", type=Path)
    options = parser.parse_args()
    import hypothesis  # noqa: F401
    import pandas  # noqa: F401
    import scipy.optimize  # noqa: F401
    import sklearn.linear_model
    import sklearn.utils.estimator_checks  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)
        if options.command == "record":
            record(root, options.tests)
        else:
            run(root, options)


if __name__ == "__main__":
    main()
