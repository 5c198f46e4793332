import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from ambilearn.experiments.execute import execute
from ambilearn.experiments.oracle import choose_for_all_runs, try_points
from ambilearn.experiments.splits import make_split
from ambilearn.experiments.task import Result, Task

GRID = {"reg": [0.01, 0.03, 1.0], "mu": [0.0, 1.0]}
SEARCH = {"kind": "random", "points": 3, "scoring": "covering", "grid": GRID, "seed": 0}
TASK = Task("wine", "PLCL", 0, candidates={"p": 0.9}, rows=40, select="oracle", search=SEARCH)


def made_up(accuracies):
    """Runs of an oracle by their number: a row of accuracies a run, a column a point."""
    runs = {}
    for run, row in enumerate(accuracies):
        tried = [{"params": {"reg": i}, "scores": {"accuracy": a}} for i, a in enumerate(row)]
        best = tried[int(np.argmax(row))]
        details = {"chosen": best["params"], "tried": tried, "warnings": []}
        runs[run] = Result(str(run), {}, "done", best["scores"], details)
    return runs


@pytest.mark.slow
def test_the_best_on_the_test_labels_is_chosen_and_every_point_kept():
    task = TASK.to(search=SEARCH | {"points": None})
    split = make_split(task)
    expected = {}
    for reg in GRID["reg"]:
        for mu in GRID["mu"]:
            model = task.to(params={"reg": reg, "mu": mu}).estimator()
            predicted = model.fit(split.X_train, split.candidates).predict(split.X_test)
            expected[reg, mu] = accuracy_score(split.y_test, predicted)
    result = execute(task)
    assert result.status == "done", result.error
    tried = result.details["tried"]
    assert {
        (point["params"]["reg"], point["params"]["mu"]): point["scores"]["accuracy"]
        for point in tried
    } == expected
    assert result.scores["accuracy"] == max(expected.values())
    chosen = result.details["chosen"]
    assert expected[chosen["reg"], chosen["mu"]] == max(expected.values())
    assert result.details["search"] == {"points": 6, "fits": 6, "score": max(expected.values())}


def test_scores_of_a_point_equal_those_of_a_direct_fit():
    _, details = try_points(TASK, make_split(TASK))
    for point in details["tried"]:
        alone = execute(TASK.to(select="fixed", search={}, params=point["params"])).scores
        assert point["scores"] == {name: alone[name] for name in point["scores"]}
        assert "transductive.outputs@3" in point["scores"]


def test_the_current_parameters_come_first_and_runs_share_points():
    points = []
    for run in range(2):
        task = TASK.to(run=run)
        _, details = try_points(task, make_split(task))
        points.append([point["params"] for point in details["tried"]])
    assert points[0] == points[1]
    assert points[0][0] == {"reg": 0.03, "mu": 1.0}
    assert len({tuple(point.values()) for point in points[0]}) == 3


def test_one_point_for_all_runs_is_the_best_in_the_mean():
    runs = made_up([[0.5, 0.9, 0.7], [0.5, 0.2, 0.7], [0.8, 0.3, 0.6]])
    read = choose_for_all_runs(runs)
    assert [result.scores["accuracy"] for result in read.values()] == [0.7, 0.7, 0.6]
    assert [result.details["chosen"] for result in read.values()] == [{"reg": 2}] * 3
    # Each run for itself has a better one: the upper bound. What was stored is left as it was.
    assert [result.scores["accuracy"] for result in runs.values()] == [0.9, 0.7, 0.8]


def test_ties_keep_the_order_of_the_points():
    read = choose_for_all_runs(made_up([[0.5, 0.75, 0.25], [0.5, 0.25, 0.75]]))
    assert {result.details["chosen"]["reg"] for result in read.values()} == {0}


def test_no_results_give_no_reading():
    assert choose_for_all_runs({}) == {}
