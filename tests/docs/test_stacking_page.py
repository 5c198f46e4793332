"""What the pages say of stacking is what the measurements give."""

import re
import runpy

import pytest
from markdown_pages import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "make_stacking_tables.py"))


def test_what_the_page_says_of_the_differences(script):
    """Ahead of every single method on two sets, and level with PL-CL on the third."""
    line = script["line"]
    for data in ("lost", "msrcv2"):
        stack = line(data, "PLStacking")
        for method in script["METHODS"] | script["WRAPPERS"]:
            alone = line(data, method)
            for figure, p in (("accuracy", 1e-5), ("transductive", 0.005)):
                assert stack[figure] > alone[figure]
                assert alone[f"{figure}_p"] < p
    for figure in ("accuracy", "within_3"):
        assert line("fg-net", "PLCL")[f"{figure}_p"] > 0.05
    assert line("fg-net", "PLStacking")["transductive"] > line("fg-net", "PLCL")["transductive"]


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
