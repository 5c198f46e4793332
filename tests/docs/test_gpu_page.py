"""The page on GPUs: its tables are those that were measured, and its code runs."""

import runpy

import pytest
from markdown_pages import ROOT, blocks

DOCS = ROOT / "docs"
PAGE = DOCS / "gpu.md"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "make_gpu_picture.py"))


def test_the_page_has_the_tables_that_are_printed(script, capsys):
    script["print_tables"]()
    printed = capsys.readouterr().out.split("\n\n")
    assert len(printed) == 4
    for table in printed:
        assert table.strip() in PAGE.read_text(encoding="utf-8")
    assert (DOCS / "_static" / "gpu.png").exists()


def test_the_picture_can_be_drawn_again(script, tmp_path):
    script["draw"](tmp_path / "gpu.png")
    assert (tmp_path / "gpu.png").stat().st_size > 1000


def test_what_was_promised_was_measured(script):
    """Seconds of exact fits by their rows, on one H200; memory; lower bound; agreement."""
    fits = {each["rows"]: each for each in script["results"]("gpu_fit")}
    limits = {11_495: 1.0, 30_000: 4.0, 100_000: 30.0}
    assert all(fits[rows]["seconds"] <= limit for rows, limit in limits.items())
    largest = fits[100_000]
    assert largest["peak_gib"] <= 125
    assert largest["over_floor"] <= 3
    assert largest["rows_per_second"] >= 3_000
    (million,) = script["results"]("gpu_landmarks")
    assert million["rows"] == 1_000_000
    assert million["seconds"] <= 40
    agreement = script["results"]("gpu_agreement")
    assert sorted(each["data"] for each in agreement) == ["fg-net", "lost", "msrcv2"]
    for each in agreement:
        assert each["confidences"] <= 1e-6
        assert each["predictions_differ"] == each["float32_predictions_differ"] == 0
        assert each["float32_confidences"] <= 1e-7
        assert each["same_bits_again"]
    (one,) = script["results"]("gpu_one_factor")
    assert one["outputs"] <= 1e-8


def test_a_stack_was_measured_on_the_gpu(script):
    stacks = script["results"]("gpu_stack")
    assert [each["rows"] for each in stacks] == [11_495, 30_000, 100_000]
    assert all(each["time_ratio"] <= 4 for each in stacks)
    assert all(each["peak_gib"] <= 1.5 * each["plcl_peak_gib"] for each in stacks)
    for each in script["results"]("gpu_stack_agreement"):
        assert each["confidences"] <= 1e-6
        assert each["predictions_differ"] == 0
        assert each["same_bits_again"]


@pytest.mark.slow
def test_the_code_runs(monkeypatch, torch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    (code,) = blocks(PAGE, "py")
    namespace = {}
    exec(compile(code.replace('"cuda"', '"cpu"'), str(PAGE), "exec"), namespace)
    assert len(namespace["labels"]) == 1797
    assert float(namespace["confidences"].sum()) == pytest.approx(1797)
