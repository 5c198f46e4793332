"""Every script of the gallery runs and draws something."""

import runpy
import warnings

import matplotlib.pyplot as plt
import pytest
from markdown_pages import ROOT

SCRIPTS = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.fixture
def drawing(tmp_path, monkeypatch):
    """An empty folder to work in, and no figure left of others."""
    plt.close("all")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_runs_and_draws(script, drawing):
    with warnings.catch_warnings():
        # A reader of the page would see these.
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("error", FutureWarning)
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()
    assert not list(drawing.iterdir())


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
