"""The page on choosing parameters says what `--tune` chooses."""

from markdown_pages import ROOT

from ambilearn.registry import find_method

PAGE = ROOT / "docs" / "guide" / "selection.md"


def test_what_select_chooses_of_the_stack_and_of_plcl():
    section = PAGE.read_text(encoding="utf-8").split("## On the command line")[1].split("\n## ")[0]
    assert list(find_method("plstacking").tuning_grid) == ["passthrough"]
    assert "`passthrough` alone" in section
    weights = {"alpha", "beta", "gamma", "mu"}
    assert set(find_method("plcl").tuning_grid) == weights | {"reg", "n_neighbors"}
    assert "its four weights, the ridge and the number of neighbors" in section
