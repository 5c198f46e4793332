import numpy as np
import pytest

from ambilearn import selection
from ambilearn.experiments import choose as module
from ambilearn.experiments.choose import choose
from ambilearn.experiments.execute import execute
from ambilearn.experiments.splits import make_split
from ambilearn.experiments.task import Task
from ambilearn.metrics import accuracy

pytestmark = pytest.mark.slow
GRID = {"reg": [0.01, 0.03, 1.0], "mu": [0.0, 1.0]}
SEARCH = {"kind": "random", "points": 3, "scoring": "approximated", "grid": GRID}
TASK = Task("wine", "PLCL", 0, candidates={"p": 0.9}, rows=40, select="label-free", search=SEARCH)


@pytest.mark.parametrize("select", ["label-free", "oracle"])
@pytest.mark.parametrize("kind", ["random", "halving", "grid"])
def test_chosen_parameters_are_points_of_the_grid(select, kind):
    search = SEARCH | {"kind": kind, "points": None if kind == "grid" else 3}
    task = TASK.to(select=select, search=search)
    params, account = choose(task, make_split(task))
    assert all(params[name] in SEARCH["grid"][name] for name in ("reg", "mu"))
    assert account["points"] == (6 if kind == "grid" else 3)
    fits = {"label-free": {"random": 15, "halving": 8, "grid": 30}}
    expected = fits.get(select, {}).get(kind, account["points"])
    assert account["fits"] == expected


def test_label_free_choice_does_not_see_hidden_or_test_labels():
    split = make_split(TASK)
    rng = np.random.default_rng(0)
    scrambled = split._replace(
        y_train=rng.permutation(split.y_train), y_test=rng.permutation(split.y_test)
    )
    assert choose(TASK, split) == choose(TASK, scrambled)


def test_the_oracle_is_the_best_on_the_test_labels():
    task = TASK.to(select="oracle", search=SEARCH | {"kind": "grid", "points": None})
    split = make_split(task)
    _, account = choose(task, split)
    scores = [
        accuracy(
            split.y_test,
            task.to(params={"reg": reg, "mu": mu})
            .estimator()
            .fit(split.X_train, split.candidates)
            .predict(split.X_test),
        )
        for reg in SEARCH["grid"]["reg"]
        for mu in SEARCH["grid"]["mu"]
    ]
    assert account["score"] == max(scores)
    assert execute(task).scores["accuracy"] == max(scores)


@pytest.fixture
def points_seen(monkeypatch):
    """Points that a search of a task looks at, in their order."""
    real = selection.fit_points

    def of(task):
        seen = []

        def watch(model, points, *rows):
            seen.extend(points)
            return real(model, points, *rows)

        monkeypatch.setattr(module, "fit_points", watch)
        monkeypatch.setattr(selection, "fit_points", watch)
        choose(task, make_split(task))
        return seen[: task.search["points"]]

    return of


def test_both_ways_see_the_same_points_and_runs_see_others(points_seen):
    oracle = TASK.to(select="oracle")
    assert points_seen(TASK) == points_seen(oracle)
    assert len({str(points_seen(oracle.to(run=run))) for run in range(3)}) > 1


def test_the_method_s_own_parameters_are_always_tried(points_seen):
    for run in range(3):
        points = points_seen(TASK.to(select="oracle", run=run))
        assert points[0] == {"reg": 0.03, "mu": 1.0}
        assert len({tuple(point.values()) for point in points}) == 3


def test_the_result_keeps_what_was_chosen():
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
