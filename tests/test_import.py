"""What ``import ambilearn`` does and does not do, and packages that import their names late."""

import subprocess
import sys
from importlib.resources import files

import prepared
import pytest
from lean_python import run_without

import ambilearn
from ambilearn import crowd, datasets, tables

HEAVY = [
    "pandas",
    "polars",
    "matplotlib",
    "dask",
    "torch",
    "clarabel",
    "click",
    "rich",
    "pooch",
    "jinja2",
]
LAZY_PACKAGES = [ambilearn, crowd, datasets, tables]


@pytest.mark.parametrize("package", LAZY_PACKAGES, ids=lambda package: package.__name__)
def test_importing_a_package_is_light(package):
    heavy = [*HEAVY, "sklearn", "scipy", "numpy"]
    code = f"import sys, {package.__name__}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", LAZY_PACKAGES, ids=lambda package: package.__name__)
def test_a_package_has_all_that_it_promises(package):
    assert package.__all__
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        value = getattr(package, name)
        # A constant has no name of its own.
        assert name.isupper() or value.__name__.rpartition(".")[2] == name


def test_modules_of_public_names_need_no_import_of_their_own():
    code = "import ambilearn; ambilearn.metrics.covering_rate; ambilearn.datasets.load_dataset"
    assert prepared.run(code=code)[0] == 0


@pytest.mark.parametrize("package", LAZY_PACKAGES, ids=lambda package: package.__name__)
def test_unknown_names_are_rejected(package):
    with pytest.raises(AttributeError, match=r"No ambilearn.* attribute misspelled"):
        _ = package.misspelled
    assert not hasattr(package, "misspelled")


def test_there_is_a_version():
    assert ambilearn.__version__[0].isdecimal()


@pytest.mark.slow
def test_library_modules_import_nothing_heavy():
    """scikit-learn imports pandas and rich when they are installed; without them we still work."""
    code = """
from ambilearn import PLCL
PLCL(n_neighbors=2).fit([[1, 0], [0, 1], [1, 1], [2, 1]], [{0}, {1}, {0, 1}, {0, 1}])
"""
    done = run_without(HEAVY, code)
    assert done.returncode == 0, done.stderr


READ_A_TABLE = """
from io import StringIO
from ambilearn.tables import read_candidate_table
file = StringIO("x,names\\n1,anna|bob\\n2,bob\\n")
table = read_candidate_table(file, candidates="names", format="csv")
"""
CLEAN_IT = """
from ambilearn.tables import clean_table
clean_table(table, params={"n_neighbors": 1})
"""


def rooms_loaded_by(code):
    """The modules of solvers, methods and kernel that some code loads, by their short names."""
    code += "\nimport sys; print(*sys.modules)"
    status, out, errors = prepared.run(code=code)
    assert status == 0, errors
    names = [name.removeprefix("ambilearn.") for name in out.decode().split()]
    return {name for name in names if name.split(".")[0] in ("solvers", "methods", "kernel")}


def test_reading_a_candidate_table_loads_no_method_and_no_solver():
    assert not rooms_loaded_by(READ_A_TABLE)
    assert rooms_loaded_by(READ_A_TABLE + CLEAN_IT)


def test_the_package_is_marked_as_typed():
    assert files(ambilearn).joinpath("py.typed").is_file()
