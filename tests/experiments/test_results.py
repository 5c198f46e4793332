from dataclasses import replace

import numpy as np
import pytest

from ambilearn.experiments.results import ExperimentResults
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result


def test_lines_are_methods_and_the_selections_that_were_measured(small):
    assert [line.label for line in small.lines] == [
        "PL-CL",
        "PL-CL (label-free, random 2, covering)",
        "PL-CL (oracle, random 2 †)",
        "PL-CL (oracle per run, random 2 †)",
        "SURE",
        "PL-KNN",
    ]
    assert [line.label for line in small.fixed_lines] == ["PL-CL", "SURE", "PL-KNN"]


def test_cases_are_data_and_settings(small):
    assert [case.label for case in small.cases] == [
        "iris p = 0.4",
        "iris p = 0.8",
        "wine p = 0.4",
        "wine p = 0.8",
    ]


def test_values_are_those_of_the_store(small, small_spec, small_store):
    line, case = small.lines[0], small.cases[1]
    with Store(small_store) as store:
        stored = store.results()
    expected = [
        stored[small_spec.task(line.method, case.data, case.setting, run).key].scores["accuracy"]
        for run in range(4)
    ]
    assert small.values(line, case, "accuracy").tolist() == expected


def test_values_without_results_are_empty(small):
    label_free, wine = small.lines[1], small.cases[2]
    assert small.values(label_free, wine, "accuracy").tolist() == []
    assert len(small.values(label_free, small.cases[0], "accuracy")) == 4
    assert small.measured_cases(small.fixed_lines) == small.cases
    assert small.measured_cases(small.lines) == small.cases[:1]


def test_the_oracle_is_at_least_as_good_as_the_label_free_choice(small):
    assert [line.is_oracle for line in small.lines[:5]] == [False, False, True, True, False]
    values = [small.values(line, small.cases[0], "accuracy") for line in small.lines[:4]]
    assert [len(each) for each in values] == [4] * 4
    # One point for all runs is best in the mean among such; a point a run is best in every run.
    assert values[2].mean() >= values[0].mean()
    for each in values:
        assert (values[3] >= each).all()


def test_one_oracle_setting_for_all_runs_is_read_from_the_points_of_each(small):
    oracle, case = small.lines[2], small.cases[0]
    results = small.results(oracle, case)
    assert len({str(result.details["chosen"]) for result in results}) == 1
    means = np.mean(
        [[p["scores"]["accuracy"] for p in r.details["tried"]] for r in results], axis=0
    )
    assert small.values(oracle, case, "accuracy").mean() == pytest.approx(means.max())


def test_a_reading_has_a_selection_for_the_first_method_and_for_the_others(small):
    def labels(*ways):
        return [line.label for line in small.read(*ways)]

    assert labels("fixed", "fixed") == ["PL-CL", "SURE", "PL-KNN"]
    assert labels("oracle", "fixed") == ["PL-CL (oracle, random 2 †)", "SURE", "PL-KNN"]
    assert labels("oracle per run", "oracle") == ["PL-CL (oracle per run, random 2 †)"]
    assert labels("oracle", "label-free") == ["PL-CL (oracle, random 2 †)"]


def test_a_reading_without_its_first_method_is_empty(small_spec, small_store, tmp_path):
    with Store(small_store) as full, Store(tmp_path / "part.sqlite") as part:
        for result in full.results().values():
            if result.task["select"] != "oracle":
                part.save(result, {})
        assert ExperimentResults(small_spec, part).read("oracle", "fixed") == []


def test_a_failed_oracle_is_listed_once(small_spec, tmp_path):
    task = next(small_spec.tasks("oracle"))
    with Store(tmp_path / "r.sqlite") as store:
        store.save(Result(task.key, task.definition, "failed", error="no"), {})
        assert len(ExperimentResults(small_spec, store).failures) == 1


def test_pairs_are_runs_that_both_have(small_spec, small_store, tmp_path):
    with Store(small_store) as full, Store(tmp_path / "part.sqlite") as part:
        for result in full.results().values():
            method, run = result.task["method"], result.task["run"]
            if (method, run) not in {("PLCL", 0), ("PLKNN", 2)}:
                part.save(result, {})
        experiment, whole = ExperimentResults(small_spec, part), ExperimentResults(small_spec, full)
    first, *_, last = experiment.lines
    case = experiment.cases[0]
    a, b = experiment.paired(first, last, case, "accuracy")
    assert a.tolist() == whole.values(whole.lines[0], case, "accuracy")[[1, 3]].tolist()
    assert b.tolist() == whole.values(whole.lines[-1], case, "accuracy")[[1, 3]].tolist()
    assert len(experiment.values(first, case, "accuracy")) == 3


def test_searches_are_never_mixed(small_spec, small_store, tmp_path):
    """Results of two searches are two lines, not one line of mixed runs."""
    with Store(small_store) as store:
        found = [r for r in store.results().values() if r.task["select"] == "label-free"]
    with Store(tmp_path / "r.sqlite") as store:
        for result in found:
            task = small_spec.task(
                small_spec.methods[0],
                result.task["data"],
                next(s for s in small_spec.settings if s.options == result.task["candidates"]),
                result.task["run"],
                "label-free",
                {"kind": "halving", "points": 5, "scoring": "approximated"},
            )
            store.save(result, {})
            store.save(Result(task.key, task.definition, "done", result.scores), {})
        experiment = ExperimentResults(small_spec, store)
    assert [line.label for line in experiment.lines[1:3]] == [
        "PL-CL (label-free, halving 5, approximated)",
        "PL-CL (label-free, random 2, covering)",
    ]
    assert len(experiment.values(experiment.lines[1], experiment.cases[0], "accuracy")) == 4


def test_failures_are_listed_separately(small_spec, tmp_path):
    task = next(small_spec.tasks())
    with Store(tmp_path / "r.sqlite") as store:
        store.save(Result(task.key, task.definition, "failed", error="no"), {})
        experiment = ExperimentResults(small_spec, store)
    assert [result.error for result in experiment.failures] == ["no"]
    assert experiment.results(experiment.lines[0], experiment.cases[0]) == []


@pytest.mark.parametrize("runs", [1, 3])
def test_only_the_runs_of_the_experiment_count(small_spec, small_store, runs):
    with Store(small_store) as store:
        experiment = ExperimentResults(replace(small_spec, runs=runs), store)
    assert len(experiment.values(experiment.lines[0], experiment.cases[0], "accuracy")) == runs
