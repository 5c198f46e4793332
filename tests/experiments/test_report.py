"""The report: complete, self-contained, and shown by a real browser without errors."""

import json
import re
from html.parser import HTMLParser

import pytest
from made_up import fill

from ambilearn.experiments.report import render_report
from ambilearn.experiments.results import ExperimentResults
from ambilearn.experiments.spec import load_spec
from ambilearn.experiments.store import Store
from ambilearn.experiments.tables import compare_with_best
from ambilearn.experiments.task import Result

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
    for content, _ in store.environments():
        if content != ENVIRONMENT:
            store._connection.execute(
                "UPDATE results SET environment = ?", [json.dumps(ENVIRONMENT)]
            )
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
