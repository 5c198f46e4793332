"""The pages with a table of all methods give the same measurements."""

import re
import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "make_stacking_tables.py"))


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("README.md", "## Methods and accuracy"),
        ("docs/measurements/methods.md", "# All methods"),
        ("docs/fidelity.md", "## All methods"),
    ],
)
def test_other_pages_give_the_same_figures(script, page, heading):
    """In their table of all methods: accuracy on the three sets."""
    text = (ROOT / page).read_text(encoding="utf-8").partition(heading)[2]
    for learner, name in (script["METHODS"] | script["WRAPPERS"]).items():
        row = re.search(rf"^\| (?:`{learner}`|{name}) \|.*\d.*$", text, re.M)[0]
        found = re.findall(r"\| 0?(\.\d{3})\b", row)[:3]
        accuracies = [script["line"](data, learner)["accuracy"] for data in script["DATA"]]
        assert found == [script["short"](accuracy) for accuracy in accuracies], (page, name)


def test_fidelity_has_the_same_figures_of_years_and_of_training_rows(script):
    text = (DOCS / "fidelity.md").read_text(encoding="utf-8")
    first, transductive = text.partition("## All methods")[2], text.partition("## Transductive")[2]
    for learner, name in (script["METHODS"] | script["WRAPPERS"]).items():
        found = [script["line"](data, learner) for data in script["DATA"]]
        years = re.search(rf"^\| {name} \|(?:[^|]*\|){{3}} 0(\.\d+)", first, re.M)[1]
        assert years == script["short"](found[-1]["within_3"]), name
        row = re.search(rf"^\| {name} \|(.*)\|$", transductive, re.M)[1]
        shares = [script["short"](x["transductive"]) for x in found]
        assert re.findall(r"\.\d+", row) == shares, name
