"""A small table of people, with all kinds of columns, and the command line."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ambilearn.cli.main import main

NAMES = ["anna", "bob", "cleo"]


@pytest.fixture(autouse=True)
def private_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def people():
    """60 rows as text, as a CSV file has them: numbers with gaps, a category, an id, a truth."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(60):
        k = i % 3
        others = {NAMES[j] for j in range(3) if j != k and rng.random() < 0.4}
        rows.append(
            {
                "id": f"{i:03d}x",
                "height": f"{150 + 20 * k + rng.normal():.2f}",
                "weight": "" if i % 7 == 0 else f"{50 + 15 * k + rng.normal():.2f}",
                "town": ["Rome", "Oslo", "Zürich", ""][k if i % 5 else 3],
                "member": str(bool(i % 2)),
                "born": f"{1950 + 20 * k}-0{1 + i % 9}-15",
                "names": "|".join(sorted({NAMES[k], *others})),
                "truth": NAMES[k],
            }
        )
    return pd.DataFrame(rows, dtype=str)


@pytest.fixture
def people_csv(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path


@pytest.fixture
def run():
    """Function that runs a command in this process: exit status, output, errors."""

    def run(*arguments, input=None):
        result = CliRunner().invoke(main, [str(a) for a in arguments], input=input)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception  # what would be a traceback
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def process():
    """Function that runs a command in a new process: exit status, output, errors, as bytes."""

    def process(*arguments, input=b""):
        command = [sys.executable, "-m", "ambilearn", *map(str, arguments)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        ran = subprocess.run(command, input=input, capture_output=True, env=environment)
        return ran.returncode, ran.stdout, ran.stderr

    return process
