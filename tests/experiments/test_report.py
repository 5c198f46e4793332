"""Tables in every form; the report: complete and self-contained."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from made_up import fill
from rich.console import Console

from ambilearn.experiments.report import (
    render_report,
    table_files,
    to_csv,
    to_latex,
    to_markdown,
    to_rich,
)
from ambilearn.experiments.results import ExperimentResults, Table
from ambilearn.experiments.spec import load_spec
from ambilearn.experiments.store import Store
from ambilearn.experiments.tables import build_tables, compare_with_best
from ambilearn.experiments.task import Result


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


# --- the report ---------------------------------------------------------------------------------

VOID = {"meta", "link", "img", "br", "hr"}


class Page(HTMLParser):
    """Collects text and addresses, and complains about tags that do not match."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words, self.addresses, self.ids = [], [], [], []
        self.feed(page)
        assert self.open == []
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href"):
                self.addresses.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)


@pytest.fixture
def real_world(tmp_path):
    spec = load_spec("real-world")
    with Store(tmp_path / "r.sqlite") as store:
        fill(store, spec, lambda label, task: 0.7, data=["lost"])
        task = spec.task(spec.methods[0], "msrcv2", None, 0)
        store.save(Result(task.key, task.definition, "failed", error="<b>Boom</b>"), {"host": "h"})
        store.save(Result("x", task.definition, "done"), ENVIRONMENT)
        yield ExperimentResults(spec, store), store


ENVIRONMENT = {
    "host": "some-host",
    "machine": "Linux x",
    "python": "3.11",
    "versions": {"numpy": "2.4"},
    "commit": "abc+",
}


@pytest.fixture
def page(real_world):
    experiment, store = real_world
    return render_report([experiment], store)


def test_measured_and_published_numbers_are_shown(page):
    text = Page(page).text
    assert "0.700 ± 0.000" in text
    assert "0.709 ± 0.022 −0.4 σ" in text.replace("\xa0", "").replace("  ", " ")
    assert re.search(r"\d+ within one published std", text)


def test_the_report_lists_missing_and_failed_tasks(page):
    text = Page(page).text
    assert "Not measured (no results in the store)" in text
    assert "yahoo-news" in text
    assert "1 tasks failed" in text
    assert "<b>Boom</b>" in text  # as text: errors are not markup
    assert "<b>Boom</b>" not in page


def test_the_report_has_settings_and_environment(page):
    text = Page(page).text
    assert "z-score over all rows before the split" in text
    assert "alpha=0.5, beta=0.5, complementary=True, gamma=1.0" in text
    assert "some-host" in text
    assert "commit abc+" in text


def test_the_page_has_no_external_references(page):
    found = Page(page)
    assert all(a.startswith(("data:", "#")) for a in found.addresses)
    assert {a[1:] for a in found.addresses if a.startswith("#")} <= set(found.ids)
    assert "<script" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_a_real_run_with_figures(small, small_store):
    with Store(small_store) as store:
        found = Page(render_report([small], store))
    assert sum(a.startswith("data:image/svg+xml") for a in found.addresses) == 2
    assert "PL-CL (oracle, random 2 †)" in found.text
    assert "chosen with the test labels" in found.text
    assert "published std" not in found.text  # it has no published numbers


def test_the_best_of_each_column_is_marked(small, small_store):
    with Store(small_store) as store:
        page = render_report([small], store)
    expected = [compare_with_best(small, show) for show in small.spec.shows[:2]]
    for rank, mark in (("best", ""), ("equal", " ≈")):
        count = sum(list(cells.values()).count(rank) for cells in expected)
        assert len(re.findall(rf'<td class="\s*{rank}">\d[^<]*{mark}</td>', page)) == count > 0
    assert "not significantly worse than the best" in page
