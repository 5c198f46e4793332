"""The commands that show what was measured, run as a user runs them."""

from pathlib import Path

import pytest
from made_up import fill

from ambilearn.experiments.spec import load_spec
from ambilearn.experiments.store import Store

STORE = Path("out/results.sqlite")  # the default, as this system writes it


def test_run_then_tables_figures_report_and_verify(run, measured, tmp_path):
    assert "lost is not on this machine and is skipped" in measured
    assert f"4 tasks, 0 of them already in {STORE}; 4 to do" in measured
    assert "4 done, 0 failed" in measured
    assert f"4 of them already in {STORE}; 0 to do" in run("paper", "run", "mine.toml")[1]

    out, _ = run.succeeds("paper", "tables", "mine.toml", "--out", "tables")
    assert "PL-KNN" in out
    assert "0." in out
    assert "not measured" in out
    assert {p.name for p in (tmp_path / "tables").iterdir()} == {"mine.md", "mine.csv", "mine.tex"}

    out, _ = run.succeeds("paper", "figures", "mine.toml")
    assert out.split() == ["out/figures/mine-curves.svg", "out/figures/mine-curves.png"]
    assert (tmp_path / "out/figures/mine-curves.png").stat().st_size > 5000

    out, _ = run.succeeds("paper", "report", "mine.toml")
    assert out.split() == ["out/report.html"]
    assert (
        "not measured (no results in the store)"
        in (tmp_path / "out/report.html").read_text("utf-8").lower()
    )


def test_verify_without_published_numbers_prints_a_message(run, measured, tmp_path):
    out, _ = run.succeeds("paper", "verify", "mine.toml", "--out", "v")
    assert "The paper has no numbers for mine" in out
    assert "`ambilearn paper tables`" in out
    assert not (tmp_path / "v").exists()


def test_each_selection_has_its_own_line(run, measured):
    arguments = ["--methods", "PL-CL", "--runs", 1, "--jobs", 1, "--search", "random:2"]
    for select in ("label-free", "oracle"):
        assert run("paper", "run", "mine.toml", "--select", select, *arguments)[0] == 0
    out = run("paper", "tables", "mine.toml")[1]
    assert "PL-CL (label-free, random 2, covering)" in out
    assert "PL-CL (oracle, random 2 †)" in out
    assert "An upper bound" in out
    err = run.fails(
        "paper", "run", "mine.toml", "--select", "oracle", "--search", "best:2", status=2
    )
    assert "random:N, halving:N or grid" in err


def test_differences_are_not_errors(run, tmp_path):
    """Against made-up results that are nowhere near the paper's."""
    with Store("far.sqlite") as store:
        fill(store, load_spec("real-world"), lambda label, task: 0.01, data=["lost"])
    out, _ = run.succeeds("paper", "verify", "real-world", "--store", "far.sqlite", "--out", "v")
    assert "7 below" in out
    assert "49 not measured" in " ".join(out.split())
    assert (tmp_path / "v" / "verify.csv").is_file()


@pytest.mark.parametrize("command", ["tables", "figures", "report", "verify"])
def test_without_results_the_next_step_is_named(run, command, tmp_path):
    err = run.fails("paper", command, "demo")
    assert "run `ambilearn paper run` first" in err
    assert not (tmp_path / "out").exists()
