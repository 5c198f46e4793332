import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

from ambilearn import PLCL, SURE
from ambilearn.candidates import as_candidates
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.metrics import approximated_accuracy_scorer, covering_rate_scorer
from ambilearn.selection import best_by_candidates, best_point, draw_points, score_points

GRID = {"alpha": [0.1, 0.5, 1.0], "beta": [0.1, 1.0], "mu": [0.0, 1.0]}


@pytest.fixture(scope="module")
def wine():
    data = load_dataset("wine")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    sets, _ = make_candidates(data.y, p=0.8, random_state=0)
    return X[::2], sets.take(np.arange(0, len(X), 2))


def test_the_full_grid_has_every_point_once():
    points = draw_points(GRID)
    assert len(points) == 12
    assert len({tuple(sorted(p.items())) for p in points}) == 12
    assert all(point[name] in GRID[name] for point in points for name in GRID)


def test_the_paper_s_grid_is_drawn_from_without_listing_it():
    values = [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0]
    grid = dict.fromkeys(["alpha", "beta", "gamma", "mu"], values)
    assert len(draw_points(grid)) == 6561
    points = draw_points(grid, 500, random_state=1)
    assert len({tuple(p.values()) for p in points}) == 500
    for name in grid:  # every value occurs about equally often
        counts = [sum(p[name] == value for p in points) for value in values]
        assert min(counts) > 25


def test_draws_are_seeded_and_independent_of_the_order_of_names():
    assert draw_points(GRID, 4, 7) == draw_points(dict(reversed(GRID.items())), 4, 7)
    assert draw_points(GRID, 4, 7) != draw_points(GRID, 4, 8)
    assert draw_points(GRID, 99) == draw_points(GRID)


@pytest.mark.parametrize("scoring", [approximated_accuracy_scorer, covering_rate_scorer])
def test_the_choice_is_that_of_a_plain_loop(wine, scoring):
    X, sets = wine
    points = draw_points(GRID, 4, 0)
    folds = list(KFold(3, shuffle=True, random_state=5).split(X))
    means = [
        np.mean(
            [
                scoring(PLCL(**p).fit(X[train], sets.take(train)), X[test], sets.take(test))
                for train, test in folds
            ]
        )
        for p in points
    ]
    found = best_by_candidates(PLCL(), points, X, sets, scoring=scoring, folds=3, random_state=5)
    assert found.params == points[int(np.argmax(means))]
    assert found.score == pytest.approx(max(means))
    assert found.n_fits == 12


class Counting:
    """Scorer that knows how good each point is, and counts how often it was asked."""

    def __init__(self, quality):
        self.quality, self.asked = quality, {}

    def __call__(self, model, X, y):
        self.asked[model.alpha] = self.asked.get(model.alpha, 0) + 1
        return self.quality(model.alpha)


def test_halving_drops_the_worse_half_after_each_fold(wine):
    X, sets = wine
    points = [{"alpha": float(a)} for a in range(1, 9)]
    scorer = Counting(lambda alpha: -abs(alpha - 6))
    model = PLCL(max_iter=1, tol=0, graph=False, complementary=False)
    found = best_by_candidates(model, points, X, sets, scoring=scorer, folds=5, halving=True)
    assert found.params == {"alpha": 6.0}
    assert sorted(scorer.asked.values()) == [1, 1, 1, 1, 2, 2, 3, 5]
    assert found.n_fits == 16
    assert scorer.asked[6.0] == 5


def test_among_equals_the_first_point_wins(wine):
    X, sets = wine
    points = [{"alpha": 3.0}, {"alpha": 1.0}, {"alpha": 2.0}]
    model = PLCL(max_iter=1, tol=0, graph=False, complementary=False)
    for halving in (False, True):
        found = best_by_candidates(model, points, X, sets, scoring=lambda *_: 0.5, halving=halving)
        assert found.params == {"alpha": 3.0}
    assert best_point([0.1, 0.7, 0.7]) == 1


def test_the_estimator_itself_is_left_alone(wine):
    X, sets = wine
    model = PLCL(alpha=0.7)
    best_by_candidates(model, draw_points(GRID, 2), X, sets, folds=2)
    assert model.get_params() == PLCL(alpha=0.7).get_params()
    assert not hasattr(model, "classes_")


def test_any_form_of_candidates_gives_the_same_choice(wine):
    X, sets = wine
    points = draw_points(GRID, 2)
    a = best_by_candidates(PLCL(), points, X, sets, folds=2)
    b = best_by_candidates(PLCL(), points, X, as_candidates(sets.to_sets()), folds=2)
    c = best_by_candidates(PLCL(), points, X, sets.to_sets(), folds=2)
    assert a == b == c


def test_hidden_labels_are_not_needed_but_help_is_real(wine):
    """A hopeless ridge is recognised from candidate sets alone."""
    X, sets = wine
    points = [{"reg": 1e6}, {"reg": 0.03}]
    assert best_by_candidates(PLCL(), points, X, sets, folds=3).params == {"reg": 0.03}


def test_shared_work_changes_no_bit(wine):
    """Fits on the same rows share what does not depend on the point; results stay the same."""
    X, sets = wine
    points = draw_points(GRID)
    outputs = []
    score_points(PLCL(), points, X, sets, lambda m: outputs.append(m.decision_function(X)) or 0)
    for point, output in zip(points, outputs, strict=True):
        assert np.array_equal(PLCL(**point).fit(X, sets).decision_function(X), output)


@pytest.mark.parametrize(
    "form", [pd.DataFrame, np.ndarray.tolist, sparse.coo_array, sparse.csr_matrix]
)
def test_rows_in_any_form_give_the_same_choice(wine, form):
    X, sets = wine
    points = draw_points({"reg": [0.03, 3.0], "lam": [0.1, 1.0]})
    expected = best_by_candidates(SURE(), points, X, sets, folds=3)
    found = best_by_candidates(SURE(), iter(points), form(X), sets, folds=3)
    assert found.params == expected.params
    assert found.score == pytest.approx(expected.score)


def test_a_kernel_matrix_is_cut_on_both_sides(wine):
    X, sets = wine
    K = rbf_kernel(X, gamma=0.1)
    points = draw_points({"reg": [0.03, 3.0]})
    expected = best_by_candidates(SURE(kernel="rbf", sigma=5**0.5), points, X, sets, folds=3)
    found = best_by_candidates(SURE(kernel="precomputed"), points, K, sets, folds=3)
    assert found.params == expected.params
    assert found.score == pytest.approx(expected.score)
