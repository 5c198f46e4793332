"""A small table of people, in a folder of its own."""

import pytest
from people import make_people


@pytest.fixture(autouse=True)
def private_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def people():
    return make_people()


@pytest.fixture
def people_csv(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path
