"""What the page says of fragility is what the measurements give."""

import runpy

from markdown_pages import ROOT

DOCS = ROOT / "docs"


def test_what_the_page_says_of_the_losses():
    """The methods that lose most and least by swapping, and the cost of dropping."""
    script = runpy.run_path(str(DOCS / "make_fragility_picture.py"))

    def accuracy(data, method, noise, eta):
        (line,) = [
            x for x in script["points"](data=data, method=method, noise=noise) if x["eta"] == eta
        ]
        return line["accuracy"]

    def losses(data, eta):
        return {
            method: accuracy(data, method, "swap", 0.0) - accuracy(data, method, "swap", eta)
            for method in methods
        }

    def gains_of_dropping(data, method):
        return [
            accuracy(data, method, "drop", eta) - accuracy(data, method, "swap", eta)
            for eta in (0.1, 0.3)
        ]

    methods = [method for method in script["METHODS"] if method != "plain labels"]
    for data in ("lost", "msrcv2", "music"):
        lost = losses(data, 0.4)
        assert max(lost, key=lost.get) == "PLStacking"
        assert 0.02 < min(losses(data, 0.1).values()) < max(losses(data, 0.1).values()) < 0.155
    for eta in (0.1, 0.4):
        lost = losses("lost", eta)
        assert sorted(sorted(lost, key=lost.get)[:2]) == ["PLDA", "PLKNN"]
        assert sorted(lost, key=lost.get)[2] == "LALO"
    for method in ("PLCL", "SURE", "LALO", "PLAGGD", "PLCP"):
        assert all(-0.04 < gain < -0.005 for gain in gains_of_dropping("lost", method))
        assert all(-0.02 < gain < -0.005 for gain in gains_of_dropping("msrcv2", method))
    for method in ("IPAL", "PLKNN"):
        assert all(
            gain > 0 for data in ("lost", "msrcv2") for gain in gains_of_dropping(data, method)
        )
    assert all(gains_of_dropping("music", method)[1] > 0 for method in methods)
