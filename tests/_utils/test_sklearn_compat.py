"""The private names of scikit-learn that we use; a release that changes them fails here."""

import ast
from pathlib import Path

import ambilearn
from ambilearn._utils import sklearn_compat

SOURCE = Path(ambilearn.__file__).parent


def _private_imports(path):
    """The private names that a module imports from scikit-learn."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            root, *parts = name.split(".")
            if root == "sklearn" and any(part.startswith("_") for part in parts):
                yield name


def test_no_other_module_imports_private_names():
    found = {path: list(_private_imports(path)) for path in SOURCE.rglob("*.py")}
    homes = [path.relative_to(SOURCE).as_posix() for path, names in found.items() if names]
    assert homes == ["_utils/sklearn_compat.py"]


def test_every_name_is_used():
    """Names that are not used any more must be removed."""
    others = [path for path in SOURCE.rglob("*.py") if path.name != "sklearn_compat.py"]
    used = {
        alias.name
        for path in others
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == sklearn_compat.__name__
        for alias in node.names
    }
    assert used == set(sklearn_compat.__all__)
