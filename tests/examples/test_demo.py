"""The demo of `make demo`, with fewer rows and methods."""

import pandas as pd
import pytest
from examples_folder import load


@pytest.mark.slow
def test_the_demo_cleans_reviews_and_compares(tmp_path, capfd):
    options = ("--methods", "PL-CL,PL-KNN", "--runs", "1", "--jobs", "1")
    load("demo").main(tmp_path, n_rows=80, run_options=options)
    output = " ".join("".join(capfd.readouterr()).split())
    for step in range(1, 5):
        assert f"Step {step} of 4" in output
    assert "% of the 80 rows with a known label are right" in output
    assert "Check these rows first" in output
    assert "Accuracy on new rows" in output
    assert output.index("What to do next") > output.index("report.html")
    table, cleaned = (pd.read_csv(tmp_path / name) for name in ("digits.csv", "clean.csv"))
    assert table["digit"].str.contains("|", regex=False).mean() > 0.8
    assert (cleaned["label"] == table["truth"]).mean() > 0.8
    assert "data:image/" in (tmp_path / "review.html").read_text(encoding="utf-8")
    assert "data:image/svg" in (tmp_path / "report.html").read_text(encoding="utf-8")
