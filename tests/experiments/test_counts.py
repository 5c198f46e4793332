from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import NOISE, fill
from scipy import stats

from ambilearn.experiments.counts import compare, compute_ranking, holm, rank, summarize
from ambilearn.experiments.results import UNMEASURED, ExperimentResults
from ambilearn.experiments.spec import load_spec, parse_search
from ambilearn.experiments.store import Store
from ambilearn.experiments.tables import build_tables

SCORES = st.lists(st.floats(0, 1, width=32), min_size=3, max_size=12)


@given(SCORES)
def test_summary_is_numpy_s(values):
    found = summarize(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.std == pytest.approx(np.std(values, ddof=1))
    assert found.n == len(values)


def test_one_value_has_no_deviation():
    mean, std, n = summarize([0.5])
    assert (mean, n) == (0.5, 1)
    assert np.isnan(std)


@given(SCORES, st.integers(0, 2**32 - 1))
def test_comparison_is_scipy_s_paired_test(values, seed):
    other = np.asarray(values) + np.random.default_rng(seed).normal(0.02, 0.05, len(values))
    found = compare(values, other)
    expected = stats.ttest_rel(values, other)
    assert found.p == pytest.approx(expected.pvalue)
    significant = expected.pvalue < 0.05
    assert found.outcome == (np.sign(expected.statistic) if significant else 0)
    assert compare(other, values).outcome == -found.outcome


@pytest.mark.parametrize(
    ("a", "b", "p", "outcome"),
    [([0.5, 0.6], [0.5, 0.6], 1.0, 0), ([0.75, 0.5], [0.5, 0.25], 0.0, 1)],
)
def test_differences_without_spread(a, b, p, outcome):
    assert compare(a, b) == (p, outcome)


def test_one_run_has_no_p_value():
    p, outcome = compare([0.9], [0.1])
    assert np.isnan(p)
    assert outcome == 0


def test_holm_of_a_small_example():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_holm_ignores_untested_values():
    found = holm([np.nan, 0.02, np.nan, 0.03])
    assert found[1::2] == pytest.approx([0.04, 0.04])
    assert np.isnan(found[::2]).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_never_below_the_p_value_nor_above_bonferroni(p):
    found = np.array(holm(p))
    assert (found >= np.array(p)).all()
    assert (found <= np.minimum(np.array(p) * len(p), 1) + 1e-12).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= 0).all()


def test_ranks_of_a_small_example():
    found = rank({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.8, 0.9], "c": [0.1, 0.2, 0.3]})
    assert found.ranks == pytest.approx({"a": (1 + 1.5 + 2) / 3, "b": (2 + 1.5 + 1) / 3, "c": 3})
    assert found.n_cases == 3


@pytest.mark.parametrize(
    ("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (7, 2.949), (10, 3.164)]
)
def test_critical_difference_with_demsar_s_table(k, q):
    """The constants of Demšar 2006, Table 5(a), at 0.05."""
    n = 14
    scores = np.random.default_rng(0).random((k, n))
    found = rank({str(i): row for i, row in enumerate(scores)})
    assert found.critical_difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * n)), rel=1e-3)
    if k > 2:
        assert found.p == pytest.approx(stats.friedmanchisquare(*scores).pvalue)


# --- tables ---------------------------------------------------------------------------------------


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
