"""A separate folder for every test, and a table of people."""

import pytest

from ambilearn.tables import read_candidate_table


@pytest.fixture(autouse=True)
def private_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(people_csv):
    return read_candidate_table(people_csv, candidates="names", exclude=["truth"])
