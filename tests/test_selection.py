from dataclasses import replace
from itertools import pairwise

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, ParameterGrid, PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import IPAL, PLCL, PLKNN, SURE, PLStacking, PLVoting
from ambilearn.candidates import as_candidates
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.metrics import approximated_accuracy_scorer, covering_rate_scorer
from ambilearn.selection import (
    CandidateSearchCV,
    _by_kernel,
    draw_points,
    fit_points,
    include_current,
)

QUICK = PLCL(max_iter=1, tol=0, graph=False, complementary=False)
GRID = {"alpha": [0.1, 0.5, 1.0], "beta": [0.1, 1.0], "mu": [0.0, 1.0]}


def quick(**parameters):
    """PL-CL with few iterations: here it matters that a choice is made, not which."""
    return PLCL(max_iter=5, tol=0, **parameters)


@pytest.fixture(scope="module")
def wine():
    data = load_dataset("wine")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    sets, _ = make_candidates(data.y, p=0.8, random_state=0)
    return X[::2], sets[np.arange(0, len(X), 2)]


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


def test_held_out_sets_can_differ_from_the_training_sets(wine):
    X, sets = wine
    certain = as_candidates([{min(labels)} for labels in sets.to_sets()], classes=sets.classes)
    seen = []

    def scoring(model, rows, held_out):
        mask = np.asarray(model.label_distributions_) > 0
        seen.append((int(mask.sum(axis=1).max()), int(held_out.sizes.max())))
        return 0.0

    search = CandidateSearchCV(PLKNN(), {"n_neighbors": [3]}, scoring=scoring, cv=2, refit=False)
    search.fit(X, certain, held_out=sets)
    assert seen == [(1, 2), (1, 2)]
    with pytest.raises(ValueError, match="rows"):
        search.fit(X, certain, held_out=sets[np.arange(5)])


def test_draws_are_seeded_and_independent_of_the_order_of_names():
    assert draw_points(GRID, 4, 7) == draw_points(dict(reversed(GRID.items())), 4, 7)
    assert draw_points(GRID, 4, 7) != draw_points(GRID, 4, 8)
    assert draw_points(GRID, 99) == draw_points(GRID)


def test_a_list_of_grids_is_a_union():
    assert draw_points([{"a": [1]}, {"b": [2, 3]}]) == [{"a": 1}, {"b": 2}, {"b": 3}]


def test_the_current_point_comes_first_and_once():
    points = [{"mu": 0.1}, {"mu": 1.0}, {"mu": 4.0}]
    assert include_current(PLCL(), points) == [{"mu": 1.0}, {"mu": 0.1}, {"mu": 4.0}]
    assert include_current(PLCL(mu=2.0), points) == [{"mu": 2.0}, *points]


def test_the_current_point_has_the_parameters_of_all_grids():
    points = [{"mu": 0.1}, {"reg": 9.0}]
    assert include_current(PLCL(), points) == [{"mu": 1.0, "reg": 0.03}, *points]
    with pytest.raises(ValueError, match=r"PLCL has no parameter 'nope'.*It has: alpha, beta"):
        include_current(PLCL(), [{"nope": 1}])
    with pytest.raises(ValueError, match="PLCL has no parameter 'beat'"):
        include_current(PLStacking(), [{"plcl__beat": 1}])


# --- fits on the same rows ----------------------------------------------------------------------


def test_fits_are_those_of_separate_fits_in_the_order_of_the_points(wine):
    X, sets = wine
    points = draw_points(GRID)
    for point, model in zip(points, fit_points(quick(), points, X, sets), strict=True):
        alone = quick(**point).fit(X, sets)
        assert model.get_params() == alone.get_params()
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=1e-9
        )


def test_fifty_points_of_the_paper_s_grid_compute_the_common_parts_once(wine, count_work):
    values = [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0]
    points = draw_points(dict.fromkeys(["alpha", "beta", "gamma", "mu"], values), 50, 1)
    assert len(list(fit_points(PLCL(max_iter=1, tol=0), points, *wine))) == 50
    ridges = {0.03} | {0.03 / point["alpha"] for point in points}
    once = {"geometry": 1, "graph": 1, "kernel": 1}
    assert count_work == once | {"factorization": len(ridges)}


class SevenNeighbors(PLCL):
    def fit(self, X, y):
        self.n_neighbors = 7
        return super().fit(X, y)


class FitsSets(LogisticRegression):
    def fit(self, X, sets):
        self.fitted_with = len(X), len(sets)
        return self


def test_a_subclass_with_its_own_fit_is_supported(wine):
    X, sets = wine
    (model,) = fit_points(SevenNeighbors(), [{"mu": 2.0}], X, sets)
    alone = PLCL(n_neighbors=7, mu=2.0).fit(X, sets)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-9)


def test_an_estimator_of_another_library_is_fitted(wine):
    (model,) = fit_points(FitsSets(), [{"C": 2.0}], *wine)
    assert model.fitted_with == (89, 89)


# --- the search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [approximated_accuracy_scorer, covering_rate_scorer])
def test_the_choice_equals_that_of_a_plain_loop(wine, scoring):
    X, sets = wine
    grid = {"alpha": [0.1, 1.0], "mu": [0.0, 1.0]}
    folds = list(KFold(3, shuffle=True, random_state=5).split(X))
    scores = np.array(
        [
            [
                scoring(quick(**p).fit(X[train], sets[train]), X[test], sets[test])
                for train, test in folds
            ]
            for p in draw_points(grid)
        ]
    )
    search = CandidateSearchCV(quick(), grid, scoring=scoring, cv=3, random_state=5).fit(X, sets)
    best = int(np.argmax(scores.mean(axis=1)))
    assert search.best_index_ == best
    assert search.best_params_ == draw_points(grid)[best]
    assert search.best_score_ == pytest.approx(scores.mean(axis=1).max())
    assert search.n_fits_ == 12
    assert search.n_splits_ == 3
    for fold in range(3):
        np.testing.assert_allclose(search.cv_results_[f"split{fold}_test_score"], scores[:, fold])
    np.testing.assert_allclose(search.cv_results_["std_test_score"], scores.std(axis=1))


def test_results_have_the_form_of_scikit_learn_s_searches(wine):
    from sklearn.model_selection import GridSearchCV

    X, sets = wine
    grid = [{"n_neighbors": [3, 5]}, {"neighbors": ["exact"]}]
    cv = PredefinedSplit(np.arange(len(X)) % 2)
    ours = CandidateSearchCV(PLKNN(), grid, scoring=covering_rate_scorer, cv=cv).fit(X, sets)
    theirs = GridSearchCV(PLKNN(), grid, scoring=covering_rate_scorer, cv=cv)
    theirs.fit(X, sets.to_mask())
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for name, values in ours.cv_results_.items():
        if name.startswith("param_"):
            assert values.mask.tolist() == theirs.cv_results_[name].mask.tolist()
        elif name.endswith("_time"):
            assert (values >= 0).all()
        elif name != "params":
            np.testing.assert_allclose(values, theirs.cv_results_[name])
    assert ours.best_params_ == theirs.best_params_


def test_the_names_of_the_features_are_known_after_the_fit(wine):
    X, sets = wine
    names = [f"x{j}" for j in range(13)]
    search = CandidateSearchCV(SURE(), {"reg": [0.03]}, cv=2).fit(
        pd.DataFrame(X, None, names), sets
    )
    assert (search.n_features_in_, search.feature_names_in_.tolist()) == (13, names)
    assert search.refit_time_ > 0


@pytest.mark.parametrize("name", ["covering_rate", "approximated_accuracy"])
def test_a_score_may_be_given_by_name(wine, name):
    search = CandidateSearchCV(SURE(), {"reg": [0.03, 3.0]}, cv=2, random_state=0)
    by_name = clone(search).set_params(scoring=name).fit(*wine)
    scorer = {
        "covering_rate": covering_rate_scorer,
        "approximated_accuracy": approximated_accuracy_scorer,
    }[name]
    search.set_params(scoring=scorer).fit(*wine)
    np.testing.assert_array_equal(
        by_name.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )
    with pytest.raises(ValueError, match="'covering_rate'"):
        search.set_params(scoring="accuracy").fit(*wine)


def test_the_best_point_is_fitted_to_all_rows_and_predicts(wine):
    X, sets = wine
    search = CandidateSearchCV(SURE(), {"reg": [0.03, 3.0]}, cv=3, random_state=0).fit(X, sets)
    alone = SURE(**search.best_params_).fit(X, sets)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))
    for method in ("predict_proba", "decision_function"):
        found, expected = getattr(search, method)(X), getattr(alone, method)(X)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert search.score(X, sets.to_sets()) == alone.score(X, sets.to_sets())
    assert search.classes_.tolist() == alone.classes_.tolist()


def test_without_refit_prediction_raises(wine):
    search = CandidateSearchCV(SURE(), {"reg": [0.03]}, cv=2, refit=False).fit(*wine)
    assert search.best_params_ == {"reg": 0.03}
    assert not hasattr(search, "predict")
    assert not hasattr(search, "refit_time_")
    with pytest.raises(AttributeError, match="refit=False"):
        search.score(*wine)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        CandidateSearchCV(SURE(), {"reg": [0.03]}).predict(wine[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_grid": []}, "no points"),
        ({"cv": []}, "no splits"),
        ({"cv": StratifiedKFold(3)}, "neither labels nor groups"),
        ({"cv": 100}, "Too few rows for the 100 folds.*n_samples=89.*lower cv"),
        ({"scoring": lambda *_: float("nan")}, r"score of \{'alpha': 0.1\} on fold 0 is nan"),
        ({"scoring": lambda *_: float("inf")}, "must return a finite number"),
    ],
    ids=["no points", "no folds", "labels", "many folds", "nan", "infinity"],
)
def test_invalid_searches_raise_a_clear_error(wine, options, message):
    options = {"param_grid": {"alpha": [0.1]}, **options}
    with pytest.raises(ValueError, match=message):
        CandidateSearchCV(QUICK, **options).fit(*wine)


class Counting:
    """Scorer with a given score for each point that counts its calls."""

    def __init__(self, quality):
        self.quality, self.calls = quality, {}

    def __call__(self, model, X, y):
        self.calls[model.alpha] = self.calls.get(model.alpha, 0) + 1
        return self.quality(model.alpha)


def test_halving_drops_the_worse_half_after_each_fold(wine):
    grid = {"alpha": [float(a) for a in range(1, 9)]}
    scorer = Counting(lambda alpha: -abs(alpha - 6))
    search = CandidateSearchCV(QUICK, grid, scoring=scorer, halving=True).fit(*wine)
    assert search.best_params_ == {"alpha": 6.0}
    assert sorted(scorer.calls.values()) == [1, 1, 1, 1, 2, 2, 3, 5]
    assert search.n_fits_ == 16
    assert scorer.calls[6.0] == 5
    assert np.isnan(search.cv_results_["split4_test_score"]).sum() == 7


def test_a_dropped_point_is_never_the_best(wine):
    """After one fold a mean may be high by chance; points with more folds are ranked before."""
    order = iter([0.9, 0.9, 0.9, 0.8] + [0.1] * 20)
    search = CandidateSearchCV(
        QUICK, {"alpha": [1.0, 2.0, 3.0, 4.0]}, scoring=lambda *_: next(order), halving=True
    ).fit(*wine)
    assert search.best_params_ == {"alpha": 1.0}
    assert search.cv_results_["rank_test_score"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("halving", [False, True])
def test_ties_keep_the_order_of_the_points(wine, halving):
    search = CandidateSearchCV(
        QUICK, {"alpha": [3.0, 1.0, 2.0]}, scoring=lambda *_: 0.5, halving=halving
    ).fit(*wine)
    assert search.best_params_ == {"alpha": 3.0}


def test_include_current_tries_the_current_point(wine):
    grid = {"alpha": [0.1, 0.2, 0.3, 0.4]}
    search = CandidateSearchCV(QUICK, grid, n_points=2, include_current=True, cv=2, random_state=0)
    points = search.fit(*wine).cv_results_["params"]
    assert points[0] == {"alpha": 0.5}
    assert len(points) == 2


def test_the_estimator_itself_is_not_fitted(wine):
    model = PLCL(alpha=0.7)
    CandidateSearchCV(model, GRID, n_points=2, cv=2, random_state=0).fit(*wine)
    assert model.get_params() == PLCL(alpha=0.7).get_params()
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "form", [pd.DataFrame, np.ndarray.tolist, sparse.coo_array, sparse.csr_matrix]
)
def test_rows_in_any_form_give_the_same_choice(wine, form):
    X, sets = wine
    search = CandidateSearchCV(
        SURE(), {"reg": [0.03, 3.0], "lam": [0.1, 1.0]}, cv=3, refit=False, random_state=0
    )
    expected = search.fit(X, sets).best_params_, pytest.approx(search.best_score_)
    search.fit(form(X), sets)
    assert (search.best_params_, search.best_score_) == expected


def test_folds_select_rows_and_columns_of_a_kernel_matrix(wine):
    X, sets = wine
    options = {"param_grid": {"reg": [0.03, 3.0]}, "cv": 3, "random_state": 0}
    expected = CandidateSearchCV(SURE(kernel="rbf", sigma=5**0.5), **options).fit(X, sets)
    K = rbf_kernel(X, gamma=0.1)
    found = CandidateSearchCV(SURE(kernel="precomputed"), **options).fit(K, sets)
    assert found.best_params_ == expected.best_params_
    assert found.best_score_ == pytest.approx(expected.best_score_)
    assert found.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (PLStacking(), "plcl__alpha", PLCL().alpha),
        (PLStacking(), "final_estimator__ipal__alpha", IPAL().alpha),
        (PLVoting(), "ipal__alpha", IPAL().alpha),
        (PLVoting(), "restore_mass", 0.5),
        (PLVoting(), "estimators", None),
        (PLVoting(estimators=[("plcl", PLCL(alpha=3.0))]), "plcl__alpha", 3.0),
        (make_pipeline(StandardScaler(), PLStacking()), "plstacking__sure__reg", SURE().reg),
    ],
)
def test_the_current_point_has_parameters_of_members_by_default(estimator, name, value):
    (found, *_) = include_current(estimator, [{name: 0.125}])
    assert found == {name: value}
    clone(estimator).set_params(**found)


def test_weights_of_rows_are_passed_to_every_fit(wine):
    X, sets = wine
    weights = np.linspace(0.1, 3.0, len(X))
    options = {"cv": KFold(2), "random_state": 0}
    search = CandidateSearchCV(SURE(), {"reg": [0.1, 1.0]}, **options)
    found = clone(search).fit(X, sets, sample_weight=weights)
    reg = found.best_params_["reg"]
    expected = SURE(reg=reg).fit(X, sets, weights)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    by_hand = []
    for train, test in KFold(2).split(X):
        model = SURE(reg=reg).fit(X[train], sets[train], weights[train])
        by_hand.append(approximated_accuracy_scorer(model, X[test], sets[test]))
    assert found.best_score_ == pytest.approx(np.mean(by_hand))
    in_the_sets = clone(search).fit(X, replace(sets, row_weights=weights))
    assert in_the_sets.best_score_ == found.best_score_
    with pytest.raises(ValueError, match="IPAL cannot weight rows"):
        CandidateSearchCV(IPAL(), {"alpha": [0.5]}, cv=2).fit(X, sets, sample_weight=weights)


@pytest.mark.parametrize("failure", ["NaN", "empty set", "parameter"])
def test_a_search_that_fails_keeps_the_earlier_fit(wine, failure):
    X, sets = wine
    search = CandidateSearchCV(PLKNN(), {"n_neighbors": [3]}, cv=2).fit(X, sets)
    before = search.predict(X)
    rows, given, grid = {
        "NaN": (np.where(X > 2, np.nan, X), sets, {"n_neighbors": [3]}),
        "empty set": (X, [set(), *list(sets)[1:]], {"n_neighbors": [3]}),
        "parameter": (X, sets, {"n_neighbors": [-1]}),
    }[failure]
    for model, error in ((search, None), (clone(search), NotFittedError)):
        with pytest.raises(ValueError, match=r"NaN|row 0|n_neighbors"):
            model.set_params(param_grid=grid).fit(rows, given)
        if error is None:
            np.testing.assert_array_equal(model.predict(X), before)
        else:
            with pytest.raises(error):
                model.predict(X)


def test_rows_may_be_a_list_with_weights(wine):
    X, sets = wine
    weights = np.arange(len(X)) % 3 + 1.0
    search = CandidateSearchCV(PLCL(max_iter=2, tol=0), {"mu": [0.1, 1.0]}, cv=2, random_state=0)
    found = clone(search).fit(X.tolist(), sets, weights)
    np.testing.assert_array_equal(found.predict(X), search.fit(X, sets, weights).predict(X))


def test_points_of_the_same_kernel_and_ridge_are_fitted_together(wine, count_work):
    X, sets = wine
    grid = {"sigma": [1.0, 2.0], "reg": [0.1, 1.0], "lam": [0.1, 0.3]}
    points = [*ParameterGrid(grid)]
    points = [points[i] for i in np.random.default_rng(0).permutation(len(points))]
    order = _by_kernel(points, range(8))
    assert sorted(order) == list(range(8))
    visited = [(points[i]["sigma"], points[i]["reg"]) for i in order]
    assert len([1 for a, b in pairwise(visited) if a != b]) == 3
    search = CandidateSearchCV(SURE(max_iter=1, tol=0), grid, cv=[(np.arange(60), np.arange(60))])
    search.set_params(refit=False).fit(X[:60], sets[:60])
    assert (count_work["kernel"], count_work["factorization"]) == (2, 4)


@pytest.mark.usefixtures("dispatch")
def test_a_search_on_a_device_without_implicit_conversion(wine):
    X, sets = wine
    device = strict.Device("device1")
    rows, mask = strict.asarray(X, device=device), strict.asarray(sets.to_mask(), device=device)
    search = CandidateSearchCV(PLKNN(), {"n_neighbors": [3, 9]}, cv=3, random_state=0)
    found, expected = clone(search).fit(rows, mask), clone(search).fit(X, sets.to_mask())
    assert found.best_score_ == pytest.approx(expected.best_score_)
    assert found.best_params_ == expected.best_params_
    assert found.predict(rows).device == device
    covering = clone(search).set_params(scoring=covering_rate_scorer)
    assert clone(covering).fit(rows, mask).best_score_ == pytest.approx(
        clone(covering).fit(X, sets.to_mask()).best_score_
    )


def test_estimators_in_the_grid_are_cloned():
    """Another search with the same grid leaves the first one as it is."""
    X = np.arange(20.0)[:, None]
    y = np.arange(20) // 10
    member, pipeline = PLKNN(n_neighbors=3), make_pipeline(StandardScaler(), PLKNN())
    search = CandidateSearchCV(pipeline, {"plknn": [member]}, cv=2, random_state=0)
    first = clone(search).fit(X, y)
    expected = first.predict(X)
    clone(search).fit(X, 1 - y)
    np.testing.assert_array_equal(first.predict(X), expected)
    assert not hasattr(member, "classes_")
    points = [{"plknn": member, "plknn__n_neighbors": k} for k in (1, 5)]
    fitted = list(fit_points(pipeline, points, X, y))
    assert [model[-1].n_neighbors for model in fitted] == [1, 5]


def test_a_held_out_mask_has_the_labels_of_the_sets():
    X = np.arange(20.0)[:, None]
    y = 1 + np.arange(20) // 10  # as column numbers, these would be others
    search = CandidateSearchCV(PLKNN(), {"n_neighbors": [1, 3]}, cv=4, random_state=0)
    mask = np.eye(2, dtype=bool)[y - 1]
    expected = clone(search).fit(X, y).best_score_
    assert clone(search).fit(X, y, held_out=mask).best_score_ == expected > 0.9


def test_parameters_that_are_arrays_are_compared():
    model = make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=np.array([0.0, 1.0])))
    points = [{"logisticregression__l1_ratio": np.array([0.0, share])} for share in (0.5, 1.0)]
    assert len(include_current(model, points)) == 2
