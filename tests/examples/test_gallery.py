"""The scripts of the gallery. `make docs` runs them, and a warning of one is an error there."""

import re
import runpy

import pytest
from markdown_pages import ROOT

STORED = ROOT / "examples" / "stored_images.py"
SCRIPTS = [*sorted((ROOT / "examples").glob("plot_*.py")), STORED]


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


@pytest.mark.slow
def test_the_stored_output_of_deepplcl_is_that_of_the_script(capsys):
    """Accuracies depend on the machine a little, since they are computed in single precision."""
    pytest.importorskip("torch", reason="needs the extra deep")
    runpy.run_path(str(STORED))
    printed = capsys.readouterr().out
    text = STORED.read_text(encoding="utf-8")
    pattern = r"(\w+) +cleaned ([\d.]+), new images ([\d.]+)"
    stored, found = (dict_of(re.findall(pattern, each)) for each in (text, printed))
    assert set(stored) == set(found) == {"DeepPLCL", "PLCL"}
    for name, accuracies in stored.items():
        assert found[name] == pytest.approx(accuracies, abs=0.02)


def dict_of(lines):
    return {name: [float(number) for number in numbers] for name, *numbers in lines}
