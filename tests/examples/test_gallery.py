"""The scripts of the gallery. `make docs` runs them, and a warning of one is an error there."""

import re

import pytest
from markdown_pages import ROOT

SCRIPTS = sorted((ROOT / "examples").glob("plot_*.py"))


def test_scripts_have_their_place_in_the_gallery():
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert SCRIPTS
    for script in SCRIPTS:
        assert f'"{script.name}"' in conf


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_begins_with_a_title(script):
    _, title, line, *_ = script.read_text(encoding="utf-8").splitlines()
    assert set(line) == {"="}
    assert len(line) >= len(title)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_draws(script):
    assert re.search(r"plt\.(subplots|figure)\(", script.read_text(encoding="utf-8"))
