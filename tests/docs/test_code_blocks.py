"""The code in the pages runs unchanged, each page from top to bottom."""

import csv
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_pages import ROOT, blocks, commands, pages, shown_files

from ambilearn.cli.main import main

PYTHON_PAGES = [page for page in pages() if blocks(page, "python") and page.name != "README.md"]
OWN_DATA = ROOT / "docs" / "guide" / "own-data.md"
CONFIDENCE = ROOT / "docs" / "guide" / "confidences.md"
REVIEW = ROOT / "docs" / "guide" / "review.md"
TABLE_FILES = ROOT / "docs" / "guide" / "table-files.md"
GPU = ROOT / "docs" / "gpu.md"
PROPOSED = ROOT / "docs" / "guide" / "proposed-labels.md"
DEEP_PAGES = {"images", "image-tables"}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder that looks like a clone to the code on a page, as the current one."""
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def _marks(page):
    return [pytest.mark.deep] if page.stem in DEEP_PAGES else []


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=_marks(page)) for page in PYTHON_PAGES]
)
def test_python_blocks_run_one_after_the_other(page, clone):
    if page.stem in DEEP_PAGES:
        pytest.importorskip("torch", reason="the page needs the extra deep")
    namespace = {"__name__": "page"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), namespace)


def test_the_guide_has_code_on_every_page():
    with_code = {page.stem for page in PYTHON_PAGES}
    guide = {page.stem for page in pages() if page.parent.name == "guide"} - {"index"}
    assert guide <= with_code


def run_commands(lines):
    """Run commands of ours, each of which ends in the file that it writes."""
    for line in lines:
        program, *arguments = shlex.split(line)
        done = CliRunner().invoke(main, arguments)
        assert program == "ambilearn"
        assert done.exit_code == 0, f"{line}\n{done.output}"
        assert Path(arguments[-1]).stat().st_size > 100, line


@pytest.mark.slow
@pytest.mark.heavy
def test_commands_for_ones_own_table_run(clone):
    for name, text in (shown_files(OWN_DATA) | shown_files(REVIEW)).items():
        (clone / name).write_text(text, encoding="utf-8")
    lines = commands(OWN_DATA)
    assert {line.split()[1] for line in lines} == {"clean", "review", "audit", "fit", "predict"}
    run_commands(dict.fromkeys(lines + commands(REVIEW) + commands(TABLE_FILES)))


@pytest.mark.slow
def test_commands_of_an_audit_run(clone):
    """The labels that a person would download from the page are those of the cleaned table."""
    clean, draw, use = commands(CONFIDENCE)
    run_commands([clean, draw])
    numbers = re.search(r'"numbers":(\[[^\]]*\])', Path("audit.html").read_text(encoding="utf-8"))
    with open("cleaned.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    checked = [f"{i},{rows[i]['names']},{rows[i]['label']}" for i in json.loads(numbers[1])]
    lines = "\n".join(["row,candidates,label", *checked])
    Path("cleaned-audit.csv").write_text(lines, encoding="utf-8")
    run_commands([use])


@pytest.mark.slow
def test_proposed_labels_are_cleaned_and_audited(clone):
    exec(blocks(PROPOSED, "python")[0], {"__name__": "page"})
    run_commands(commands(PROPOSED))


@pytest.mark.slow
def test_commands_for_a_gpu_run_in_a_clone(clone):
    """On the processor: what they name is there. The device has tests of its own."""
    lines = [line for line in commands(GPU) if line.startswith("ambilearn")]
    assert [line.split()[1] for line in lines] == ["clean", "fit", "predict"]
    run_commands(line.replace("--device cuda ", "") for line in lines)
