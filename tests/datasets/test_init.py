import subprocess
import sys

import pytest


@pytest.mark.slow
def test_names_are_imported_when_first_used():
    code = """
import sys
from ambilearn.datasets import InvalidFileError
assert "sklearn" not in sys.modules
from ambilearn.datasets import load_dataset
assert "sklearn" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
