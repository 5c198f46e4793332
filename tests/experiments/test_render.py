import csv
import io

import pytest
from rich.console import Console

from ambilearn.experiments.render import (
    Table,
    table_files,
    to_csv,
    to_latex,
    to_markdown,
    to_rich,
)
from ambilearn.experiments.tables import build_tables


@pytest.fixture
def table():
    return Table(
        name="one",
        title="50% & more_or_less [bold]",
        header=["method", "Lost | p"],
        rows=[["PL-CL", "0.709 ± 0.022"], ["SURE (oracle †)", "0.693 ± 0.020 ●"]],
        records=[{"method": "PL-CL", "mean": 0.1 + 0.2, "p": float("nan")}, {"method": "SURE"}],
        notes=["ε = 0.1"],
    )


def shown(table, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(to_rich(table))
    return console.file.getvalue()


def test_the_terminal_shows_all_cells_unchanged(table):
    text = shown(table)
    for part in ("50% & more_or_less [bold]", "Lost | p", "0.693 ± 0.020 ●", "ε = 0.1"):
        assert part in text


def test_markdown(table):
    lines = to_markdown(table).splitlines()
    assert lines[0] == "**50% & more_or_less [bold]**"
    assert lines[2] == r"| method | Lost \| p |"
    assert lines[3] == "| --- | --- |"
    assert lines[4] == "| PL-CL | 0.709 ± 0.022 |"
    assert lines[-1] == "ε = 0.1"
    assert len({line.replace(r"\|", "").count("|") for line in lines[2:6]}) == 1


def test_csv_has_all_digits_and_empty_cells_for_missing_values(table):
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert float(rows[0]["mean"]) == 0.1 + 0.2
    assert rows[0]["p"] == ""
    assert rows[1] == {"method": "SURE", "mean": "", "p": ""}


def test_latex_is_escaped(table):
    text = to_latex(table)
    assert r"50\% \& more\_or\_less [bold]" in text
    assert r"SURE (oracle $\dagger$) & 0.693 $\pm$ 0.020 $\bullet$ \\" in text
    assert r"$\epsilon$ = 0.1" in text
    assert text.count("{") == text.count("}")
    assert text.isascii()


def test_every_table_of_a_real_run_in_every_form(small, tmp_path):
    tables = build_tables(small)
    files = dict(table_files(tables, tmp_path))
    assert sorted(path.name for path in files) == sorted(
        f"{table.name}.{ending}" for table in tables for ending in ("md", "csv", "tex")
    )
    for path, written in files.items():
        content = written.decode()
        assert content.strip()
        assert content.isascii() or path.suffix != ".tex"
    rows = list(csv.DictReader(io.StringIO(files[tmp_path / "small.csv"].decode())))
    assert len(rows) == 6 * 4
