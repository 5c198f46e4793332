"""The campaign finds planted defects, makes them small, keeps them, and repeats itself."""

import json
import sys

import planted_defects
import pytest

if sys.platform == "win32":
    pytest.skip("the campaign forks and kills as Unix does", allow_module_level=True)

from torture.__main__ import replay
from torture.campaign import run_campaign


@pytest.fixture
def torture(tmp_path):
    """Function (target, options) → outcome of a short campaign, what it said, kept files."""

    def torture(target, cases=100, **options):
        said = []
        outcome = run_campaign(
            [target],
            seconds=600,
            cases=cases,
            keep=tmp_path / "kept",
            say=said.append,
            **{"seed": 0} | options,
        )
        return outcome, "\n".join(said), sorted((tmp_path / "kept").glob("*"))

    return torture


@pytest.mark.heavy
def test_a_wrong_result_is_found_minimized_and_stored(torture):
    outcome, said, kept = torture(planted_defects.wrong)
    assert outcome.kinds()["wrong"] == 1
    assert "smallest case: 1000" in said
    (path,) = kept
    assert json.loads(path.read_text())["case"] == "1000"
    assert str(path) in said


@pytest.mark.heavy
def test_a_crash_is_found_and_the_campaign_continues(torture):
    outcome, said, kept = torture(planted_defects.crash, cases=200)
    assert set(outcome.kinds()) >= {"crash"}
    assert outcome.kinds()["crash"] == len(kept) > 0
    assert "smallest case: 700" in said  # in isolation a crash is made small, too
    assert outcome.count(planted_defects.crash) > 10


@pytest.mark.heavy
def test_a_hang_is_found(torture):
    outcome, _, kept = torture(planted_defects.hang, cases=10, patience=1.0)
    assert outcome.kinds()["hang"] == 1
    assert json.loads(kept[0].read_text())["case"] == "2"


@pytest.mark.heavy
def test_one_seed_gives_one_outcome(torture):
    counts = []
    for seed in (1, 1, 2):
        outcome, _, kept = torture(planted_defects.right, seed=seed)
        assert not kept
        assert outcome.count(planted_defects.right) == 100
        counts.append(outcome.accepted[planted_defects.right.name])
    assert counts[0] == counts[1] != counts[2]


def _keep(tmp_path, case):
    path = tmp_path / "kept.json"
    path.write_text(json.dumps({"target": "planted_defects:wrong", "case": case}))
    return path


def test_a_stored_case_is_replayed(tmp_path, capsys):
    assert replay(_keep(tmp_path, "1000")) == 1
    assert "still fails: wrong: 1000 is too much" in capsys.readouterr().out
    assert replay(_keep(tmp_path, "999")) == 0
    assert "is accepted now" in capsys.readouterr().out


def test_a_stored_case_is_not_executed(tmp_path):
    with pytest.raises(ValueError, match="malformed"):
        replay(_keep(tmp_path, "__import__('os').getpid()"))
