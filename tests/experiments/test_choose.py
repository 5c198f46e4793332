import numpy as np
import pytest

from ambilearn import selection
from ambilearn.experiments import oracle
from ambilearn.experiments.choose import choose
from ambilearn.experiments.execute import execute
from ambilearn.experiments.splits import make_split
from ambilearn.experiments.task import Task

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

        monkeypatch.setattr(oracle, "fit_points", watch)
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
