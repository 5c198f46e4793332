"""The commands, run as a user runs them."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from ambilearn.cli.main import main
from ambilearn.experiments.store import Store

SPEC = """
title = "Mine"
data = ["iris", "lost"]
methods = ["PL-CL", "PL-KNN"]
runs = 2
[protocol]
rows = 40
[quick]
runs = 1
rows = 30
[[candidates]]
group = "I"
title = "p varies"
vary = "p"
values = [0.5]
[[show]]
kind = "table"
name = "mine"
title = "Mine"
metric = "accuracy"
[[show]]
kind = "curves"
name = "mine-curves"
title = "Mine"
metric = "accuracy"
"""


@pytest.fixture(autouse=True)
def private_machine(tmp_path, monkeypatch):
    """A folder and a cache of its own, and no data files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("AMBILEARN_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "mine.toml").write_text(SPEC)


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def measured(tmp_path):
    status, out, _ = run("reproduce", "mine.toml", "--jobs", 1)
    assert status == 0
    return out


@pytest.mark.parametrize("command", ["reproduce", "tables", "figures", "report", "verify"])
def test_help_fits_the_terminal_and_explains(command):
    status, out, _ = run(command, "--help")
    assert status == 0
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "--store FILE" in out
    assert "--quick" in out


def test_the_whole_way(measured, tmp_path):
    assert "lost is not on this machine and is left out" in measured
    assert "4 tasks, 0 of them in out/results.sqlite already; 4 to do" in measured
    assert "4 done, 0 failed" in measured
    assert "4 of them in out/results.sqlite already; 0 to do" in run("reproduce", "mine.toml")[1]

    status, out, _ = run("tables", "mine.toml", "--output", "tables")
    assert status == 0
    assert "PL-KNN" in out
    assert "0." in out
    assert "not measured" in out
    assert {p.name for p in (tmp_path / "tables").iterdir()} == {"mine.md", "mine.csv", "mine.tex"}

    status, out, _ = run("figures", "mine.toml")
    assert out.split() == ["out/figures/mine-curves.svg", "out/figures/mine-curves.png"]
    assert (tmp_path / "out/figures/mine-curves.png").stat().st_size > 5000

    status, out, _ = run("report", "mine.toml")
    assert out.split() == ["out/report.html"]
    assert "not measured here" in (tmp_path / "out/report.html").read_text("utf-8").lower()


def test_more_runs_and_the_quick_version(measured):
    assert "2 of them in" not in measured
    out = run("reproduce", "mine.toml", "--runs", 3, "--jobs", 1)[1]
    assert "6 tasks, 4 of them in out/results.sqlite already; 2 to do" in out
    out = run("reproduce", "mine.toml", "--quick", "--jobs", 1)[1]
    assert "2 tasks, 0 of them in" in out
    with Store("out/results.sqlite") as store:
        assert sorted(r.task["rows"] for r in store.results().values()) == [30] * 2 + [40] * 6


def test_another_scaling_is_another_result(measured):
    assert run("reproduce", "mine.toml", "--scaling", "train", "--jobs", 1)[1].count("4 done") == 1
    with Store("out/results.sqlite") as store:
        assert (
            sorted(r.task["scaling"] for r in store.results().values())
            == ["all"] * 4 + ["train"] * 4
        )
    for scaling, text in (("all", "the whole set"), ("train", "the training rows")):
        run("report", "mine.toml", "--scaling", scaling)
        assert f"z-score over {text}" in Path("out/report.html").read_text("utf-8")


def test_again_measures_anew(measured):
    out = run("reproduce", "mine.toml", "--again", "--jobs", 1)[1]
    assert "4 to do" in out
    assert "4 done" in out


def test_only_some_methods_and_data():
    out = run("reproduce", "mine.toml", "--methods", "PL-KNN", "--data", "iris", "--jobs", 1)[1]
    assert "2 tasks" in out
    assert "lost" not in out
    status, _, err = run("reproduce", "mine.toml", "--methods", "PL-XX")
    assert status == 2
    assert "There is no method 'PL-XX'" in err
    status, _, err = run("reproduce", "mine.toml", "--data", "wine")
    assert status == 2
    assert "Nothing is left to do" in err


@pytest.mark.parametrize("name", ["PL-KNN", "PLKNN", "plknn", "pl-knn"])
def test_a_method_is_known_by_its_name_in_tables_and_in_python(name):
    out = run("reproduce", "mine.toml", "--methods", f"{name}, plcl", "--data", "iris")[1]
    assert "4 tasks" in out
    assert "2 tasks" in run("reproduce", "mine.toml", "--methods", name, "--data", "iris")[1]


def test_where_nothing_is_published_verify_says_so(measured, tmp_path):
    status, out, _ = run("verify", "mine.toml", "--output", "v")
    assert status == 0
    assert "The paper prints no numbers for mine" in out
    assert "`ambilearn tables`" in out
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("command", ["reproduce", "tables", "figures", "report", "verify"])
def test_a_foreign_database_is_no_store(command, tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        shop.execute("CREATE TABLE orders (price REAL)")
    before = (tmp_path / "shop.sqlite").read_bytes()
    status, _, err = run(command, "mine.toml", "--store", "shop.sqlite")
    assert status == 1
    assert err.startswith("Error: shop.sqlite is a database of something else")
    assert err.count("\n") == 1
    assert (tmp_path / "shop.sqlite").read_bytes() == before


def test_selection_shows_up_as_a_line_of_its_own(measured):
    arguments = ["--methods", "PL-CL", "--runs", 1, "--jobs", 1, "--search", "random:2"]
    for select in ("label-free", "oracle"):
        assert run("reproduce", "mine.toml", "--select", select, *arguments)[0] == 0
    out = run("tables", "mine.toml")[1]
    assert "PL-CL (label-free, random 2, covering)" in out
    assert "PL-CL (oracle, random 2 †)" in out
    assert "An upper bound" in out
    status, _, err = run("reproduce", "mine.toml", "--select", "oracle", "--search", "best:2")
    assert status == 2
    assert "random:N, halving:N or grid" in err


def test_a_cluster_on_this_machine():
    pytest.importorskip("distributed")
    arguments = ["--cluster", "local", "--jobs", "1", "--runs", "1"]
    ran = subprocess.run(
        [sys.executable, "-m", "ambilearn", "reproduce", "mine.toml", *arguments],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "2 done, 0 failed" in ran.stdout


def test_failures_are_reported_and_make_the_status_1(tmp_path):
    (tmp_path / "bad.toml").write_text(SPEC.replace("[0.5]", "[7.0]"))
    status, out, _ = run("reproduce", "bad.toml", "--jobs", 1, "--runs", 1)
    assert status == 1
    assert "0 done, 2 failed" in out
    assert "PLCL on iris, run 0: ValueError: p must be a number between 0 and 1" in out
    status, _, err = run("verify", "bad.toml")
    assert status == 1
    assert "2 tasks failed" in err


def test_disagreement_is_no_error(tmp_path):
    """Against made-up results that are nowhere near the paper's."""
    from made_up import fill

    from ambilearn.experiments.spec import load_spec

    with Store("far.sqlite") as store:
        fill(store, load_spec("real-world"), lambda label, task: 0.01, data=["lost"])
    status, out, _ = run("verify", "real-world", "--store", "far.sqlite", "--output", "v")
    assert status == 0
    assert "7 below" in out
    assert "49 not measured" in " ".join(out.split())
    assert (tmp_path / "v" / "verify.csv").is_file()


@pytest.mark.parametrize("command", ["tables", "figures", "report", "verify"])
def test_without_results_the_next_step_is_named(command, tmp_path):
    status, _, err = run(command, "demo")
    assert status == 1
    assert "run `ambilearn reproduce` first" in err
    assert not (tmp_path / "out").exists()


def test_an_unknown_experiment_lists_the_known():
    status, _, err = run("reproduce", "nope")
    assert status == 2
    assert "Known are: ablation, controlled" in err


def test_results_of_other_code_are_announced(measured):
    with Store("out/results.sqlite") as store:
        change = """replace(content, '"commit": ', '"commit": "old", "was": ')"""
        store._connection.execute(f"UPDATE environments SET content = {change}")
    out = run("reproduce", "mine.toml", "--jobs", 1)[1]
    assert "4 results in the store were made by another version of the code" in out


def test_the_command_line_starts_without_the_heavy_parts():
    heavy = ["matplotlib", "dask", "distributed", "jinja2", "rich"]
    code = f"import sys, ambilearn.cli.main; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
