from dataclasses import replace

import numpy as np
import pytest
from made_up import fill

from ambilearn.experiments.counts import compute_ranking
from ambilearn.experiments.results import UNMEASURED, ExperimentResults, published_cells
from ambilearn.experiments.spec import load_spec, parse_search
from ambilearn.experiments.stats import compare, holm
from ambilearn.experiments.store import Store
from ambilearn.experiments.tables import (
    build_tables,
    compare_with_best,
    plus_minus,
    published_records,
    verdict,
    verification_table,
)

NOISE = np.random.default_rng(0).normal(0, 0.01, 100)


@pytest.fixture
def measured(tmp_path):
    """Function: results of an experiment with made-up accuracies."""
    stores = []

    def make(name, accuracy, runs=10, **options):
        spec = replace(load_spec(name), runs=runs)
        stores.append(Store(tmp_path / f"{len(stores)}.sqlite"))
        fill(stores[-1], spec, accuracy, **options)
        return ExperimentResults(spec, stores[-1])

    yield make
    for store in stores:
        store.close()


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


def test_wins_ties_and_losses_are_counted_by_group(measured):
    def accuracy(label, task):
        options = task.candidates
        edge = 0.0
        if label == "SURE":
            edge = {1: 0.1, 2: -0.1}.get(options["r"], 0.0) if "epsilon" not in options else 0.0
        if label == "IPAL" and task.data == "steel":
            edge = 0.2
        return 0.8 - edge + NOISE[task.run + 10 * len(label)] / 10

    table = build_tables(measured("controlled", accuracy, runs=3))[0]
    rows = {row[0]: [cell.partition(" ")[0] for cell in row[1:]] for row in table.rows}
    sure = [list(map(int, cell.split("/"))) for cell in rows["SURE"]]
    assert sum(sure[0]) == sum(sure[3]) == 28
    assert sure[1] == [28, 0, 0]
    assert sure[2] == [0, 0, 28]
    assert sure[4] == np.sum(sure[:4], axis=0).tolist()
    assert all(int(cell.split("/")[0]) >= 7 for cell in rows["IPAL"][:4])
    assert "[26/2/0]" in table.rows[0][2]
    assert "PL-CL" not in rows


def test_ranks(measured):
    order = ["SURE", "PL-CL", "LALO", "PL-AGGD", "IPAL", "PLDA", "PL-KNN"]
    found = measured("controlled", lambda label, task: 0.9 - 0.1 * order.index(label), runs=1)
    table = build_tables(found)[1]
    assert [row[0] for row in table.rows] == order
    assert [row[1] for row in table.rows] == [f"{i:.2f}" for i in range(1, 8)]
    assert "Over 112 cases" in table.notes[0]
    assert "critical difference 0.85" in table.notes[0]  # 2.949 sqrt(7·8 / (6·112))
    assert [r["significantly_behind_best"] for r in table.records] == [False] + [True] * 6


def test_ranks_of_few_cases_are_qualified(measured):
    table = build_tables(measured("real-world", lambda label, task: 0.5, data=["lost"]))[1]
    assert "so few cases" in table.notes[0]


def test_no_ranking_without_results(measured):
    found = measured("real-world", lambda label, task: None)
    assert compute_ranking(found, {"metric": "accuracy"}) is None
    assert build_tables(found)[1].notes == [UNMEASURED]


# --- readings -------------------------------------------------------------------------------------


@pytest.fixture
def tuned(measured, tmp_path):
    """The oracle study on Lost: tuning takes PL-CL from level to far ahead, and SURE with it."""

    def accuracy(label, task):
        gain = {"PL-CL": 0.1, "SURE": 0.2}.get(label, 0.0) if task.select == "oracle" else 0.0
        return 0.6 + gain + NOISE[task.run * 7 + len(label)]

    spec = load_spec("oracle")
    with Store(tmp_path / "tuned.sqlite") as store:
        fill(store, spec, accuracy, data=["lost"])
        fill(store, spec, accuracy, data=["lost"], select="oracle", search=parse_search("random:8"))
        yield ExperimentResults(spec, store)


def test_wins_are_counted_for_every_reading(tuned):
    table = build_tables(tuned)[0]
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert rows["SURE"]["(a) printed parameters"] == "0/1/0"
    assert rows["SURE"]["(b) oracle † for PL-CL alone"] == "1/0/0"
    assert rows["SURE"]["(c) oracle † for all"] == "0/0/1"
    assert rows["LALO"]["(c) † per run"] == "1/0/0"
    last = rows["all, share of wins"]
    assert last["(a) printed parameters"] == "0 of 6 (0%)"
    assert last["(b) † per run"] == "6 of 6 (100%)"
    assert last["(c) oracle † for all"] == "5 of 6 (83%)"
    record = next(r for r in table.records if r["reading"].startswith("(c) oracle"))
    assert record == {
        "method": "SURE",
        "reading": "(c) oracle † for all",
        "win": 0,
        "tie": 0,
        "loss": 1,
        "ahead_in_the_mean": 0,
    }
    assert "chosen with the test labels" in table.notes[-1]


def test_a_larger_mean_need_not_be_significant(measured):
    centered = NOISE[:10] - NOISE[:10].mean()

    def accuracy(label, task):
        if label == "PL-CL":
            return 0.6 + centered[task.run]
        return 0.601 if label == "SURE" else 0.599

    table = build_tables(measured("oracle", accuracy, data=["lost"]))[0]
    first = {row[0]: row[1] for row in table.rows}
    assert first["all, share of wins"] == "0 of 6 (0%)"
    assert first["all, ahead in the mean"] == "5 of 6 (83%)"
    ahead = {r["method"]: r["ahead_in_the_mean"] for r in table.records}
    assert (ahead["SURE"], ahead["LALO"]) == (0, 1)


def test_every_reading_is_over_the_same_cases(tmp_path):
    """A case of which the oracle has met some runs only, or none, does not count in any reading."""
    spec, search = replace(load_spec("oracle"), runs=3), parse_search("random:8")

    def accuracy(label, task):
        part = task.data == "msrcv2" and label == "LALO" and task.run == 2
        return None if task.select == "oracle" and part else 0.5 + NOISE[len(label) + task.run]

    with Store(tmp_path / "r.sqlite") as store:
        fill(store, spec, accuracy)
        fill(store, spec, accuracy, data=["lost", "msrcv2"], select="oracle", search=search)
        table = build_tables(ExperimentResults(spec, store))[0]
    assert table.notes[0].startswith("Wins/ties/losses of PL-CL in 1 cases (lost 1; ")
    assert {r["win"] + r["tie"] + r["loss"] for r in table.records} == {1}


def test_published_counts_are_sums_of_their_groups(measured):
    """The printed total of SURE is 88/14/0, which its groups do not add up to."""
    experiment = measured("oracle-controlled", lambda label, task: 0.5, runs=2, data=["ecoli"])
    (table,) = build_tables(experiment)
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert rows["SURE"]["published"] == "98/14/0"
    assert rows["PL-KNN"]["published"] == "112/0/0"
    assert rows["all, share of wins"]["published"] == "619 of 672 (92%)"
    assert rows["SURE"]["(a) printed parameters"] == "0/28/0"
    assert rows["SURE"]["(c) oracle † for all"] == UNMEASURED
    for row in ("all, share of wins", "all, ahead in the mean"):
        assert rows[row]["(c) oracle † for all"] == UNMEASURED
    assert rows["all, ahead in the mean"]["(a) printed parameters"] == "0 of 168 (0%)"
    assert rows["all, ahead in the mean"]["published"] == UNMEASURED
    assert len(table.notes) == 1  # no oracle was asked


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
