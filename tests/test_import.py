"""What ``import ambilearn`` does and does not do, and packages that import their names late."""

import subprocess
import sys
from importlib.resources import files

import pytest
from lean_python import run_without

import ambilearn
from ambilearn import datasets, own_data

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
LAZY_PACKAGES = [ambilearn, datasets, own_data]


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
        assert getattr(package, name).__name__ == name


@pytest.mark.parametrize("package", LAZY_PACKAGES, ids=lambda package: package.__name__)
def test_unknown_names_are_refused(package):
    with pytest.raises(AttributeError, match=r"No ambilearn.* attribute misspelt"):
        _ = package.misspelt
    assert not hasattr(package, "misspelt")


def test_there_is_a_version():
    assert ambilearn.__version__[0].isdecimal()


def test_library_modules_bring_nothing_heavy_of_their_own():
    """scikit-learn imports pandas and rich when they are installed; without them we still work."""
    code = """
from ambilearn import PLCL
PLCL(n_neighbors=2).fit([[1, 0], [0, 1], [1, 1], [2, 1]], [{0}, {1}, {0, 1}, {0, 1}])
"""
    done = run_without(HEAVY, code)
    assert done.returncode == 0, done.stderr


def test_the_package_says_that_it_is_typed():
    assert files(ambilearn).joinpath("py.typed").is_file()
