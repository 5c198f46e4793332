import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from problems import ambiguous
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsTransformer

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLCP, PLDA, PLKNN, SURE, PLVoting, shared_results
from ambilearn.backend.host import HostBackend
from ambilearn.candidates import as_candidates
from ambilearn.rows import TrainingRows

QUICK = {"max_iter": 2, "tol": 0}


@pytest.fixture(scope="module")
def data():
    X, mask, _ = ambiguous(n=60, seed=1)
    return X, as_candidates(mask)


def fit(rows, sets, method):
    return clone(method)._fit_rows(rows, sets)


def assert_same(found, expected, X):
    """The same operations in the same order: not a bit differs."""
    assert np.array_equal(found.decision_function(X), expected.decision_function(X))
    assert np.array_equal(found.label_distributions_, expected.label_distributions_)


# --- what is kept -------------------------------------------------------------------------------


def test_shared_rows_compute_each_thing_once_and_others_every_time():
    for shared, calls in ((True, 1), (False, 2)):
        rows, made = TrainingRows(np.eye(3), shared=shared), []
        for _ in range(2):
            assert rows.once(("square", 3), lambda x, made=made: made.append(x) or x * x, 3) == 9
        assert len(made) == calls


def test_a_search_of_many_points_keeps_a_bounded_number_of_factors(data, monkeypatch):
    monkeypatch.setattr(shared_results, "_MIN_BYTES", 0)
    X, sets = data
    rows = PLCL()._training_rows(X)
    for reg in np.linspace(0.01, 1, 21):
        fit(rows, sets, PLCL(reg=reg, **QUICK))
    kept = sum(size for _, size in rows.results._kept.values())
    largest = max(size for _, size in rows.results._kept.values())
    assert 8 * len(X) ** 2 <= kept <= 4 * largest


def test_a_matrix_that_was_partly_overwritten_is_not_factorized_again(data, monkeypatch):
    X, sets = data
    attempts = []

    def fails(backend, matrix, ridge, overwrite):
        attempts.append(overwrite)
        matrix[0] = 0
        raise MemoryError

    monkeypatch.setattr(HostBackend, "factorize", fails)
    with pytest.raises(MemoryError, match="60 rows needs more memory"):
        SURE().fit(X, sets)
    assert attempts == [True]


def test_one_factor_in_host_memory_solves_both_systems(data, monkeypatch):
    X, sets = data
    two = PLCL(alpha=0.2, max_iter=4, tol=0).fit(X, sets)
    factorize = HostBackend.factorize

    def in_place_only(backend, matrix, ridge, overwrite):
        if not overwrite:
            raise MemoryError
        return factorize(backend, matrix, ridge, overwrite)

    monkeypatch.setattr(HostBackend, "factorize", in_place_only)
    one = clone(two).fit(X, sets)
    np.testing.assert_allclose(one.label_distributions_, two.label_distributions_, atol=1e-8)


def test_the_last_fit_uses_what_there_is_and_keeps_nothing(data, count_work):
    X, sets = data
    rows = PLCL()._training_rows(X)
    fit(rows, sets, SURE())
    rows.release()
    assert_same(fit(rows, sets, PLCL()), PLCL().fit(X, sets), X)
    assert count_work == {"kernel": 2, "factorization": 5, "geometry": 2, "graph": 2}
    assert not rows.results._kept


def test_pickled_rows_have_no_results(data):
    X, sets = data
    rows = SURE()._training_rows(X)
    fit(rows, sets, SURE())
    copied = pickle.loads(pickle.dumps(rows))
    assert rows.results._kept
    assert not copied.results._kept
    assert_same(fit(copied, sets, SURE()), SURE().fit(X, sets), X)


# --- fits that share them -----------------------------------------------------------------------


@pytest.mark.parametrize("method", [PLCL, SURE, LALO, PLAGGD, PLKNN, IPAL, PLDA, PLCP, PLVoting])
def test_results_are_those_of_separate_fits(method, data):
    X, sets = data
    rows = method()._training_rows(X)
    for _ in range(2):
        assert_same(fit(rows, sets, method()), method().fit(X, sets), X)


@pytest.mark.parametrize(
    ("method", "points", "work"),
    [
        (PLCL, [{"mu": 4.0}, {"mu": 0.1}], {"kernel": 1, "factorization": 2, "geometry": 1}),
        (PLCL, [{"alpha": 1.0}, {"complementary": False}], {"factorization": 1}),
        (PLAGGD, [{"gamma": 4.0}, {"gamma": 0.1}], {"graph": 1, "factorization": 1}),
        (LALO, [{"mu": 4.0}, {"mu": 0.1}], {"neighbors": 1, "kernel": 1}),
        (LALO, [{"reg": 4.0}, {"reg": 0.1}], {"neighbors": 1, "factorization": 2}),
        (IPAL, [{"alpha": 0.1}, {"alpha": 0.5}], {"neighbors": 1}),
        (PLDA, [{"lam": 0.1}, {"lam": 0.5}], {"neighbors": 1 + 2}),  # of the augmented rows: 2
        (PLKNN, [{}, {"n_neighbors": 3}], {"neighbors": 2}),
        (SURE, [{"sigma": 0.7}, {"sigma": "mean"}], {"kernel": 2, "factorization": 2}),
        (SURE, [{"kernel": RBF(0.8)}, {"kernel": RBF(0.8)}], {"kernel": 1, "factorization": 1}),
        (SURE, [{"kernel": "linear", "reg": r} for r in (0.1, 1.0)], {"moments": 1, "kernel": 0}),
        (
            SURE,
            [{"n_landmarks": 9, "random_state": seed} for seed in (0, 0, 1)],
            {"features": 2, "moments": 2},
        ),
        (SURE, [{"n_landmarks": m, "random_state": 0} for m in (9, 10)], {"features": 2}),
        (PLCL, [{"neighbors": KNeighborsTransformer()}] * 2, {"geometry": 1, "graph": 1}),
        (PLCL, [{"neighbors": each} for each in ("auto", "exact")], {"geometry": 2}),
    ],
)
def test_points_share_what_does_not_depend_on_them(method, points, work, data, count_work):
    X, sets = data
    rows = method()._training_rows(X)
    loop = QUICK if hasattr(method(), "max_iter") else {}
    found = [fit(rows, sets, method(**loop, **point)) for point in [*points, *points]]
    assert {kind: count_work[kind] for kind in work} == {
        kind: n + (2 if kind == "neighbors" and method is PLDA else 0) for kind, n in work.items()
    }
    for model, point in zip(found, points, strict=False):
        assert_same(model, method(**loop, **point).fit(X, sets), X)


def test_landmarks_without_a_seed_are_drawn_again(data):
    X, sets = data
    seeds = [np.random.RandomState(0) for _ in range(2)]
    rows = SURE(n_landmarks=9)._training_rows(X)
    for _ in range(2):
        found = SURE(n_landmarks=9, random_state=seeds[0], **QUICK)._fit_rows(rows, sets)
        alone = SURE(n_landmarks=9, random_state=seeds[1], **QUICK).fit(X, sets)
        assert_same(found, alone, X)


@pytest.mark.parametrize("method", [PLCL(), PLAGGD(), PLCL(n_landmarks=9, random_state=0)])
def test_a_fit_to_other_sets_reuses_kernel_and_neighbors(method, data, count_work):
    X, sets = data
    changed = as_candidates([{0}, *list(sets)[1:]], classes=sets.classes)
    rows = method._training_rows(X)
    fit(rows, sets, method)
    before = dict(count_work)
    found = fit(rows, changed, method)
    assert dict(count_work) == before | {"graph": 2}
    assert_same(found, clone(method).fit(X, changed), X)


@pytest.mark.parametrize("sigma", ["mean", 2.0])
def test_other_weights_of_rows_share_what_does_not_depend_on_them(sigma, data, count_work):
    X, sets = data
    weighted = replace(sets, row_weights=np.arange(len(X)) % 3 + 1.0)
    rows, method = PLCL()._training_rows(X), PLCL(sigma=sigma, **QUICK)
    found = [fit(rows, each, method) for each in (sets, weighted, sets)]
    kernels = 2 if sigma == "mean" else 1
    assert count_work == {"kernel": kernels, "factorization": 4, "geometry": 1, "graph": 2}
    for model, each in zip(found, (sets, weighted, sets), strict=True):
        assert_same(model, clone(method).fit(X, each), X)


def test_weights_of_candidates_are_not_those_of_rows(data):
    X, sets = data
    labels = as_candidates([min(each) for each in sets], classes=sets.classes)
    weights = np.arange(len(X)) % 3 + 1.0
    rows = PLCL()._training_rows(X)
    for each in (replace(labels, weights=weights), replace(labels, row_weights=weights)):
        assert_same(fit(rows, each, PLCL(**QUICK)), PLCL(**QUICK).fit(X, each), X)


def test_taken_rows_have_neighbors_and_bandwidth_of_their_own(data):
    X, sets = data
    rows, index = PLCL()._training_rows(X), np.arange(0, 60, 2)
    fit(rows, sets, PLCL())
    found = fit(rows.take(index), sets[index], PLCL())
    assert_same(found, PLCL().fit(X[index], sets[index]), X)
    K = X @ X.T
    taken = PLCL(kernel="precomputed")._training_rows(K).take(index, index)
    np.testing.assert_array_equal(taken.X, K[np.ix_(index, index)])


# --- models and rows ----------------------------------------------------------------------------


def test_no_model_keeps_rows_and_changes_to_a_model_do_not_reach_them(data):
    X, sets = data
    mask, few = sets.to_sparse(), {"n_landmarks": 9, "random_state": 0}
    rows = SURE()._training_rows(X)
    for params in ({}, few) * 2:
        model = fit(rows, as_candidates(mask), SURE(**params))
        expected = SURE(**params).fit(X, mask)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
        assert not any(isinstance(value, TrainingRows) for value in vars(model).values())
        model.label_distributions_.eliminate_zeros()
        if params:
            model.X_fit_[:] = 0


def test_names_of_columns_are_those_of_the_rows(data):
    X, sets = data
    frame = pd.DataFrame(X, columns=[*"abcd"])
    rows = PLKNN()._training_rows(frame)
    assert fit(rows, sets, PLKNN()).feature_names_in_.tolist() == [*"abcd"]
    model = PLKNN().fit(frame, sets)
    assert not hasattr(model._fit_rows(PLKNN()._training_rows(X), sets), "feature_names_in_")


def test_each_fit_checks_parameters_weights_and_the_kernel_matrix(data):
    X, sets = data
    rows = PLCL()._training_rows(X)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        fit(rows, sets, PLCL(alpha=-1))
    with pytest.raises(ValueError, match="square kernel matrix"):
        fit(rows, sets, PLCL(kernel="precomputed"))
    with pytest.raises(ValueError, match="IPAL cannot weight rows"):
        fit(rows, replace(sets, row_weights=np.arange(60.0)), IPAL())
    assert_same(fit(rows, sets, PLCL()), PLCL().fit(X, sets), X)
