"""Crafted stores are rejected, and claims of the future are no obstacle; what is not so is seen."""

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("the campaign forks and kills as Unix does", allow_module_level=True)

from torture import schemas
from torture.commands import Ended
from torture.oracle import Defect
from torture.schemas import check_crafted_schema, check_future_claims

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END"
CASE = {"script": TRIGGER, "missing": 1, "command": "reproduce"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case").mkdir()
    return tmp_path / "case"


@pytest.mark.slow
def test_a_crafted_schema_is_rejected(folder):
    assert check_crafted_schema(CASE, folder) is False


@pytest.mark.slow
def test_the_use_of_a_crafted_schema_is_detected(folder, monkeypatch):
    monkeypatch.setattr(schemas, "run_command", lambda *arguments: Ended(0))
    with pytest.raises(Defect, match="wrong: a store with additional objects is used"):
        check_crafted_schema(CASE, folder)


@pytest.mark.slow
def test_claims_dated_in_the_future_expire(folder):
    case = {"runner": "elsewhere 17 x", "ahead": 1e9, "claimed": 3}
    assert check_future_claims(case, folder) is True
