"""The transcription, checked against what the paper says about its own numbers."""

import re
from pathlib import Path

import numpy as np
import pytest

from ambilearn.experiments.results import published_cells, published_counts

COLUMNS = 8
METHODS = ["PL-CL", "SURE", "PL-AGGD", "LALO", "IPAL", "PLDA", "PL-KNN"]


@pytest.mark.parametrize("name", ["real-world", "transductive"])
def test_seven_methods_in_eight_columns(name):
    cells = published_cells(name)
    assert len(cells) == len(METHODS) * COLUMNS
    assert list(dict.fromkeys(method for method, _, _ in cells)) == METHODS
    assert all(0 < cell.mean < 1 and 0 < cell.std < 0.1 for cell in cells.values())


def test_spot_checks():
    real, trans = published_cells("real-world"), published_cells("transductive")
    assert real["PL-CL", "lost", "accuracy"] == (0.709, 0.022, "")
    assert real["IPAL", "msrcv2", "accuracy"] == (0.488, 0.031, "○")
    assert real["PL-KNN", "fg-net", "accuracy@5"] == (0.440, 0.016, "●")
    assert trans["SURE", "fg-net", "transductive"] == (0.158, 0.012, "")
    assert trans["PL-CL", "fg-net", "transductive@3"] == (0.600, 0.023, "")


def test_the_paper_s_own_counts_of_its_marks():
    """It says: superior in 95.8 % of 48 cases; in transduction 89.5 %, comparable in 6.3 %."""
    for name, better in (("real-world", 46), ("transductive", 43)):
        marks = [c.mark for (m, *_), c in published_cells(name).items() if m != "PL-CL"]
        assert len(marks) == 48
        assert marks.count("●") == better
    assert [m for m in marks if m != "●"].count("") == 3


def test_the_ablation_repeats_the_tables_and_has_the_printed_averages():
    ablation = published_cells("ablation")
    assert len(ablation) == 5 * COLUMNS * 2
    for name, metric in (("real-world", "accuracy"), ("transductive", "transductive")):
        for (method, data, which), cell in published_cells(name).items():
            if method == "PL-CL":
                assert ablation[method, data, which] == cell
        printed = {"accuracy": [0.398, 0.461, 0.485, 0.496, 0.507]}
        printed["transductive"] = [0.499, 0.600, 0.630, 0.629, 0.646]
        lines = list(dict.fromkeys(method for method, _, _ in ablation))
        found = [
            np.mean([c.mean for (m, _, w), c in ablation.items() if m == line and metric in w])
            for line in lines
        ]
        assert found == pytest.approx(printed[metric], abs=0.0011)


def test_win_tie_loss_counts_add_up_except_where_the_paper_s_do_not():
    counts = published_counts("win-tie-loss")
    for method in METHODS[1:]:
        groups = [counts[method, group] for group in ("I", "II", "III", "IV")]
        assert all(sum(group) == 28 for group in groups)
        total = tuple(np.sum(groups, axis=0).tolist())
        assert counts[method, "Total"] == ((88, 14, 0) if method == "SURE" else total)


def test_every_number_is_in_the_paper(real_data_dir):
    """Where the paper's source is at hand, beside the data: each cell, in its line."""
    source = Path(real_data_dir).parent / "paper" / "PL-CL.tex"
    if not source.is_file():
        pytest.skip("the paper's source is not here")
    lines = source.read_text("utf-8", errors="replace").splitlines()
    for name in ("real-world", "transductive"):
        cells = published_cells(name)
        for method in METHODS:
            row = [c for (m, *_), c in cells.items() if m == method]
            pattern = ".*".join(rf"{c.mean:.3f} \$\\pm\$ {c.std:.3f}" for c in row)
            assert any(
                line.strip().startswith(method) and re.search(pattern, line) for line in lines
            )
