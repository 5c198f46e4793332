"""What ``import ambilearn`` does and does not do."""

import subprocess
import sys

import pytest

import ambilearn

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


def test_import_is_light():
    code = f"import sys, ambilearn; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist():
    assert all(hasattr(ambilearn, name) for name in ambilearn.__all__)
    assert ambilearn.__version__


def test_public_names_are_listed_once_and_unknown_ones_refused():
    assert set(ambilearn.__all__) == set(ambilearn._HOMES)
    assert set(ambilearn.__all__) <= set(dir(ambilearn))
    with pytest.raises(AttributeError, match="no attribute 'PLXL'"):
        _ = ambilearn.PLXL


def test_library_modules_bring_nothing_heavy_of_their_own():
    """scikit-learn imports pandas and rich when they are installed; without them we still work."""
    code = f"""
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY}:
            raise ImportError(name)

sys.meta_path.insert(0, NotInstalled())
from ambilearn import PLCL
PLCL(n_neighbors=2).fit([[1, 0], [0, 1], [1, 1], [2, 1]], [{{0}}, {{1}}, {{0, 1}}, {{0, 1}}])
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
