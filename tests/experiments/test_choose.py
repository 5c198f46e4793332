import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from ambilearn import selection
from ambilearn.experiments import execute as module
from ambilearn.experiments.execute import choose, execute, try_points
from ambilearn.experiments.results import choose_for_all_runs
from ambilearn.experiments.spec import DEFAULT_SEARCH, parse_search
from ambilearn.experiments.splits import make_split
from ambilearn.experiments.task import Result, Task

pytestmark = pytest.mark.slow
GRID = {"reg": [0.01, 0.05, 1.0], "lam": [0.0, 0.3]}
SEARCH = {"kind": "random", "points": 3, "scoring": "approximated", "grid": GRID, "seed": 0}
TASK = Task("wine", "SURE", 0, candidates={"p": 0.9}, rows=40, select="label-free", search=SEARCH)


@pytest.mark.parametrize(("kind", "fits"), [("random", 15), ("halving", 8), ("grid", 30)])
def test_chosen_parameters_are_points_of_the_grid(kind, fits):
    search = SEARCH | {"kind": kind, "points": None if kind == "grid" else 3}
    task = TASK.to(search=search)
    params, account = choose(task, make_split(task))
    assert all(params[name] in SEARCH["grid"][name] for name in GRID)
    assert account["points"] == (6 if kind == "grid" else 3)
    assert account["fits"] == fits


def test_label_free_choice_does_not_see_hidden_or_test_labels():
    split = make_split(TASK)
    rng = np.random.default_rng(0)
    scrambled = split._replace(
        y_train=rng.permutation(split.y_train), y_test=rng.permutation(split.y_test)
    )
    assert choose(TASK, split) == choose(TASK, scrambled)


@pytest.fixture
def points_seen(monkeypatch):
    """Points that a task looks at, in their order."""
    real = selection.fit_points

    def of(task):
        seen = []

        def watch(model, points, *rows):
            seen.extend(points)
            return real(model, points, *rows)

        monkeypatch.setattr(module, "fit_points", watch)
        monkeypatch.setattr(selection, "fit_points", watch)
        assert execute(task).status == "done"
        return seen[: task.search["points"]]

    return of


def test_all_selections_and_runs_use_the_same_points(points_seen):
    """Else an oracle could be beaten, and had no one point for all runs."""
    tasks = [TASK, TASK.to(run=1), TASK.to(select="oracle"), TASK.to(select="oracle", run=1)]
    first, *others = [points_seen(task) for task in tasks]
    assert others == [first] * 3
    assert points_seen(TASK.to(search=SEARCH | {"seed": 1})) != first


def test_the_current_parameters_are_always_tried(points_seen):
    for seed in range(3):
        points = points_seen(TASK.to(search=SEARCH | {"seed": seed}))
        assert points[0] == {"reg": 0.05, "lam": 0.3}
        assert len({tuple(point.values()) for point in points}) == 3


def test_the_result_has_the_chosen_parameters():
    result = execute(TASK)
    assert result.status == "done", result.error
    chosen = result.details["chosen"]
    fixed = execute(TASK.to(select="fixed", search={}, params=chosen))
    assert fixed.scores == result.scores
    assert result.details["search"]["points"] == 3


def test_the_scoring_is_that_of_the_search():
    scores = {}
    for scoring in ("approximated", "covering"):
        task = TASK.to(search=SEARCH | {"scoring": scoring, "points": 1})
        scores[scoring] = choose(task, make_split(task))[1]["score"]
    assert scores["approximated"] < scores["covering"]


ORACLE_GRID = {"reg": [0.01, 0.03, 1.0], "mu": [0.0, 1.0]}
ORACLE_SEARCH = {
    "kind": "random",
    "points": 3,
    "scoring": "covering",
    "grid": ORACLE_GRID,
    "seed": 0,
}
ORACLE = Task(
    "wine", "PLCL", 0, candidates={"p": 0.9}, rows=40, select="oracle", search=ORACLE_SEARCH
)


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
    task = ORACLE.to(search=ORACLE_SEARCH | {"points": None})
    split = make_split(task)
    expected = {}
    for reg in ORACLE_GRID["reg"]:
        for mu in ORACLE_GRID["mu"]:
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
    _, details = try_points(ORACLE, make_split(ORACLE))
    for point in details["tried"]:
        alone = execute(ORACLE.to(select="fixed", search={}, params=point["params"])).scores
        assert point["scores"] == {name: alone[name] for name in point["scores"]}
        assert "transductive.outputs@3" in point["scores"]


def test_the_current_parameters_come_first_and_runs_share_points():
    points = []
    for run in range(2):
        task = ORACLE.to(run=run)
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


def test_ways_to_search():
    assert parse_search("random:20") == {
        "kind": "random",
        "points": 20,
        "scoring": "covering",
    }
    assert parse_search("halving:8", "approximated") == {
        "kind": "halving",
        "points": 8,
        "scoring": "approximated",
    }
    assert parse_search("grid")["points"] is None
    assert parse_search(DEFAULT_SEARCH)["points"] == 16


@pytest.mark.parametrize("text", ["", "random", "grid:5", "halving:0", "random:x", "best:3"])
def test_errors_name_the_mistake(text):
    with pytest.raises(ValueError, match=r"(The search must be|number of points)"):
        parse_search(text)


def test_a_scoring_that_does_not_exist_is_rejected():
    with pytest.raises(ValueError, match="covering, approximated; got 'accuracy'"):
        parse_search("grid", "accuracy")
