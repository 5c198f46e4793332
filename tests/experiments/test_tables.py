import numpy as np
import pytest
from made_up import NOISE, fill

from ambilearn.experiments.counts import compare, holm
from ambilearn.experiments.results import UNMEASURED, ExperimentResults, published_cells
from ambilearn.experiments.spec import load_spec, parse_search
from ambilearn.experiments.store import Store
from ambilearn.experiments.tables import (
    accuracy_table,
    build_tables,
    compare_with_best,
    plus_minus,
    published_records,
    verdict,
    verification_table,
)


def test_numbers_of_a_real_run(small):
    table = build_tables(small)[0]
    assert table.header == ["method", *(case.label for case in small.cases)]
    assert [row[0] for row in table.rows] == [line.label for line in small.lines]
    values = small.values(small.lines[4], small.cases[2], "accuracy")
    record = next(r for r in table.records if (r["line"], r["column"]) == ("SURE", "wine p = 0.4"))
    assert record["mean"] == values.mean()
    assert record["std"] == values.std(ddof=1)
    assert record["runs"] == 4
    assert table.rows[4][3].startswith(f"{values.mean():.3f} ± {values.std(ddof=1):.3f}")
    reference = small.values(small.lines[0], small.cases[2], "accuracy")
    assert record["p"] == compare(reference, values).p
    tested = [r["p"] for r in table.records]
    assert record["p_holm"] == holm(tested)[table.records.index(record)]


def test_one_setting_is_shown_if_the_file_selects_it(small):
    table = build_tables(small)[1]
    assert table.header == ["method", "iris", "wine"]
    values = small.values(small.lines[0], small.cases[3], "transductive.confidences")
    assert table.rows[0][2] == plus_minus(values.mean(), values.std(ddof=1))


def test_an_oracle_is_marked_and_explained_everywhere(small):
    for table in build_tables(small)[:3]:
        marked = [row for row in table.rows if "oracle" in row[0]]
        assert len(marked) == 2
        assert all("†" in row[0] for row in marked)
        assert any("chosen with the test labels" in note for note in table.notes)
    assert all("oracle" not in row[0] for row in build_tables(small)[3].rows)


def test_an_oracle_has_no_scores_of_training_rows(small):
    show = {"kind": "table", "name": "t", "title": "T", "metric": "training.covering"}
    table = accuracy_table(small, show)
    for row in table.rows:
        assert (row[1] == UNMEASURED) == ("oracle" in row[0])


def test_marks_show_the_better_method(measured):
    def accuracy(label, task):
        base = {"PL-CL": 0.6, "SURE": 0.5, "IPAL": 0.7}.get(label, 0.6)
        return base + NOISE[task.run * 7 + len(label)]

    table = build_tables(measured("real-world", accuracy, data=["lost", "fg-net"]))[0]
    marks = {(r["method"], r["column"]): r["mark"] for r in table.records}
    assert marks["SURE", "Lost"] == "●"
    assert marks["IPAL", "Lost"] == "○"
    assert marks["PL-CL", "Lost"] == marks["LALO", "Lost"] == ""
    assert marks["SURE", "FG-NET (MAE3)"] == "●"


def test_lines_are_compared_with_the_best_of_each_column(measured):
    """SURE is best; PL-CL differs from it by noise, and all others are clearly behind."""

    def accuracy(label, task):
        noise = 0.01 * (-1) ** task.run
        return {"SURE": 0.8, "PL-CL": 0.799 + noise, "LALO": 0.8}.get(label, 0.7 + noise)

    experiment = measured("real-world", accuracy, data=["lost"])
    show = experiment.spec.shows[0]
    ranks = {"SURE": "best", "LALO": "best", "PL-CL": "equal"}
    assert compare_with_best(experiment, show) == {(k, "Lost"): rank for k, rank in ranks.items()}


def test_brackets_if_holm_is_not_significant(measured):
    """In 6 × 3 tests a single small p-value is no longer significant."""
    small_edge = np.array([0.02, 0.01, 0.0, 0.02, 0.03, -0.01, 0.01, 0.02, -0.01, 0.02])

    def accuracy(label, task):
        edge = small_edge[task.run] if (label, task.data) == ("SURE", "lost") else 0.0
        return 0.5 + 0.03 * task.run - edge + (NOISE[task.run] if label == "LALO" else 0) / 10

    table = build_tables(measured("real-world", accuracy, data=["lost", "fg-net"]))[0]
    record = next(r for r in table.records if (r["method"], r["column"]) == ("SURE", "Lost"))
    assert record["p"] < 0.05 < record["p_holm"]
    row = next(row for row in table.rows if row[0] == "SURE")
    assert row[table.header.index("Lost")].endswith("(●)")


def test_published_numbers_are_shown(measured):
    table = build_tables(measured("real-world", lambda label, task: 0.7, data=["lost"]))[0]
    record = next(r for r in table.records if (r["method"], r["column"]) == ("PL-CL", "Lost"))
    printed = published_cells("real-world")["PL-CL", "lost", "accuracy"]
    assert (record["published_mean"], record["published_std"]) == (printed.mean, printed.std)
    assert record["deviation"] == pytest.approx((0.7 - 0.709) / 0.022)


def test_a_table_may_show_one_reading_only(tuned):
    _, alike, alone, *_ = build_tables(tuned)
    assert [row[0] for row in alike.rows[:2]] == [
        "PL-CL (oracle, random 8 †)",
        "SURE (oracle, random 8 †)",
    ]
    assert [row[0] for row in alone.rows[:2]] == ["PL-CL (oracle, random 8 †)", "SURE"]
    marks = [
        {r["method"]: r["mark"] for r in table.records if r["column"] == "Lost"}
        for table in (alike, alone)
    ]
    assert [mark["SURE"] for mark in marks] == ["○", "●"]  # against the tuned PL-CL
    assert "PL-CL (oracle, random 8 †) is significantly" in alone.notes[0]
    assert "chosen with the test labels" in alone.notes[1]


def test_a_reading_without_results_is_not_measured(measured):
    tables = build_tables(measured("oracle", lambda label, task: 0.5, runs=2, data=["lost"]))
    assert [table.rows for table in tables[1:]] == [[]] * 4
    assert all(table.notes == [UNMEASURED] for table in tables[1:])


# ---- verification


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (0.709, "within"),
        (0.731, "within"),
        (0.687, "within"),
        (0.6866, "within"),  # is printed as 0.687
        (0.686, "below"),
        (0.732, "above"),
        (None, "not measured"),
    ],
)
def test_verdicts(mean, expected):
    deviation = {} if mean is None else {"deviation": (mean - 0.709) / 0.022}
    assert verdict({"published_std": 0.022, **deviation}) == expected


@pytest.fixture
def experiments(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        names = ("real-world", "transductive", "ablation", "controlled")
        fill(store, load_spec("real-world"), lambda label, task: 0.7, data=["lost"])
        yield [ExperimentResults(load_spec(name), store) for name in names]


def test_every_published_cell_is_checked_once(experiments):
    found = published_records(experiments)
    assert len(found) == 56 + 56 + 80
    assert len({(c["table"], c["line"], c["column"]) for c in found}) == len(found)
    measured = [c for c in found if c["mean"] is not None]
    assert {c["column"] for c in measured} == {"Lost"}
    # Seven methods, twice; and the full PL-CL of the ablation, twice, which is the same task.
    assert len(measured) == 7 + 7 + 2


def test_the_table_shows_and_counts_them(experiments):
    table = verification_table(published_records(experiments))
    first = next(row for row in table.rows if row[:3] == ["real-world", "PL-CL", "Lost"])
    assert first == [
        "real-world",
        "PL-CL",
        "Lost",
        "0.709 ± 0.022",
        "0.700 ± 0.000",
        "-0.4",
        "within",
    ]
    counts = dict.fromkeys(("within", "above", "below", "not measured"), 0)
    for record in table.records:
        counts[record["verdict"]] += 1
    for name, count in counts.items():
        assert f"{count} {name}" in table.notes[0]
    assert counts["not measured"] == 192 - 16


def test_every_way_of_choosing_parameters_is_checked(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        spec = load_spec("real-world")
        fill(store, spec, lambda label, task: 0.6, data=["lost"])
        search = parse_search("halving:4")
        for select in ("label-free", "oracle"):
            fill(store, spec, lambda label, task: 0.7, data=["lost"], select=select, search=search)
        records = published_records([ExperimentResults(spec, store)])
        found = [c for c in records if c["mean"] is not None]
    assert {c["line"] for c in found if c["method"] == "PL-CL"} == {
        "PL-CL",
        "PL-CL (label-free, halving 4, covering)",
        "PL-CL (oracle, halving 4 †)",
        "PL-CL (oracle per run, halving 4 †)",
    }
    verdicts = {c["line"]: c["verdict"] for c in found}
    assert verdicts["PL-CL"] == "below"
    assert verdicts["PL-CL (oracle, halving 4 †)"] == "within"
    assert "chosen with the test labels" in verification_table(found).notes[-1]
    assert len(verification_table([c for c in found if c["select"] == "fixed"]).notes) == 1
