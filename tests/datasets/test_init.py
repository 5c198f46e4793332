import subprocess
import sys

import pytest

from ambilearn import datasets


def test_public_names_exist_and_are_listed_once():
    assert set(datasets.__all__) == set(datasets._HOMES)
    assert all(hasattr(datasets, name) for name in datasets.__all__)
    assert set(datasets.__all__) <= set(dir(datasets))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'load_datasets'"):
        _ = datasets.load_datasets


def test_names_are_imported_when_first_used():
    code = """
import sys
from ambilearn.datasets import InvalidFileError
assert "sklearn" not in sys.modules
from ambilearn.datasets import load_dataset
assert "sklearn" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
