import gc
import pickle
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsTransformer

from ambilearn import LALO, PLAGGD, PLCL, PLKNN, SURE
from ambilearn._utils.fit_cache import NO_CACHE, FitCache, content_key, seed_key
from ambilearn.candidates import as_candidates
from ambilearn.datasets import load_dataset, make_candidates

QUICK = {"max_iter": 2, "tol": 0}


@pytest.fixture(scope="module")
def rows():
    data = load_dataset("iris")
    sets, _ = make_candidates(data.y, p=0.8, random_state=0)
    return data.X[::2], sets[np.arange(0, 150, 2)]


def assert_same(found, expected, X):
    """The same operations in the same order: not a bit differs."""
    assert np.array_equal(found.decision_function(X), expected.decision_function(X))
    assert np.array_equal(found.label_distributions_, expected.label_distributions_)


# --- the cache itself ---------------------------------------------------------------------------


def test_each_kind_and_key_is_computed_once():
    cache, calls = FitCache(), []

    def square(x):
        calls.append(x)
        return [x * x]

    first = cache.get_or_compute("square", (3,), square, 3)
    assert cache.get_or_compute("square", (3,), square, 3) is first
    assert cache.get_or_compute("square", (4,), square, 4) == [16]
    assert cache.get_or_compute("other", (3,), square, 5) == [25]
    assert calls == [3, 4, 5]
    assert cache.n_computed == {"square": 2, "other": 1}


def test_unhashable_keys_are_not_cached():
    cache = FitCache()
    assert [cache.get_or_compute("list", ([1],), list, "ab") for _ in range(2)] == [["a", "b"]] * 2
    assert cache.n_computed == {"list": 2}


def test_discard_removes_results():
    cache = FitCache()
    for key in ((1, "a"), (2, "a"), (2, "b")):
        cache.get_or_compute("square", key, list, "xy")
    cache.get_or_compute("other", (1, "a"), list, "xy")
    cache.discard("square", lambda key: key[-1] == "a")
    for kind, key in (("square", (2, "b")), ("other", (1, "a"))):
        cache.get_or_compute(kind, key, list, "xy")
    assert cache.n_computed == {"square": 3, "other": 1}  # these two are still there
    cache.get_or_compute("square", (1, "a"), list, "xy")
    assert cache.n_computed["square"] == 4


def test_last_use_removes_results():
    cache = FitCache()
    first = cache.get_or_compute("matrix", (1,), np.ones, 3)
    last = cache.for_last_use()
    assert not last.keeps_results
    assert last.get_or_compute("matrix", (1,), np.ones, 3) is first
    assert last.get_or_compute("matrix", (2,), np.ones, 3) is not None
    assert last.get_or_compute("list", ([],), list, "ab") == ["a", "b"]  # without a hash
    for key in ((1,), (2,)):  # neither is there any more
        cache.get_or_compute("matrix", key, np.ones, 3)
    assert cache.n_computed == {"matrix": 4, "list": 1}


def test_the_last_use_is_of_the_same_rows(rows):
    X, sets = rows
    cache = FitCache()
    expected = PLCL().fit(X, sets, cache=cache)
    with pytest.raises(ValueError, match="other rows"):
        cache.for_last_use().bind([X + 1])
    assert_same(PLCL().fit(X, sets, cache=cache.for_last_use()), expected, X)
    assert cache.n_computed == {"kernel": 1, "factorization": 2, "geometry": 1, "graph": 1}


def test_failed_computation_is_not_cached():
    cache = FitCache()
    with pytest.raises(ZeroDivisionError):
        cache.get_or_compute("ratio", (0,), lambda: 1 / 0)
    assert cache.get_or_compute("ratio", (0,), lambda: 2.0) == 2.0


def test_different_rows_raise_and_equal_copies_do_not():
    X, y = np.eye(3), np.array([0, 1, 1])
    cache = FitCache()
    cache.bind([X], [y])
    cache.bind([X.copy()], [y.copy()])
    X[0, 0] = 2.0
    with pytest.raises(ValueError, match="other rows"):
        cache.bind([X], [y])


def test_other_sets_keep_the_results_for_the_rows():
    X, cache = np.eye(3), FitCache()
    cache.bind([X], [np.array([0, 1, 1])])
    for kind in ("kernel", "geometry", "graph", "member"):
        cache.get_or_compute(kind, (), list, kind)
    cache.bind([X], [np.array([0, 1, 0])])
    held = [kind for kind in ("kernel", "geometry", "graph", "member") if cache.holds(kind, ())]
    assert held == ["kernel", "geometry"]


@pytest.mark.parametrize("method", [PLCL(), PLAGGD(), PLCL(n_landmarks=9, random_state=0)])
def test_a_fit_to_changed_sets_reuses_kernel_and_neighbors(rows, method):
    X, sets = rows
    changed = as_candidates([{"virginica"}, *list(sets)[1:]], classes=sets.classes)
    cache = FitCache()
    clone(method).fit(X, sets, cache=cache)
    before = dict(cache.n_computed)
    found = clone(method).fit(X, changed, cache=cache)
    assert_same(found, clone(method).fit(X, changed), X)
    assert cache.n_computed == before | {"graph": 2}


def test_keys_are_equal_only_for_clones():
    transformer = KNeighborsTransformer(n_neighbors=7)
    others = ("auto", "exact", 0.5, KNeighborsTransformer(n_neighbors=7, p=1))
    keys = {content_key(each) for each in (transformer, clone(transformer), *others)}
    assert len(keys) == 5


def test_changed_object_has_a_different_key():
    kernel = RBF(0.8)
    before = content_key(kernel)
    assert content_key(RBF(0.8)) == before
    kernel.length_scale = 0.9
    assert content_key(kernel) != before


def test_unpicklable_and_unseeded_parameters_are_not_shared():
    cache = FitCache()
    unshared = content_key(KNeighborsTransformer(metric=lambda a, b: 0.0))
    for key in (unshared, seed_key(None), seed_key(np.random.RandomState(0))):
        for _ in range(2):
            cache.get_or_compute("list", (key,), list, "a")
    assert cache.n_computed == {"list": 6}
    assert not cache._results
    assert seed_key(np.int64(3)) == seed_key(3) == 3


def test_single_fit_caches_nothing():
    NO_CACHE.bind([np.eye(2)])
    NO_CACHE.bind([np.eye(3)])
    results = [NO_CACHE.get_or_compute("list", (), list, "a") for _ in range(2)]
    assert results == [["a"], ["a"]]
    assert results[0] is not results[1]
    assert not NO_CACHE.keeps_results


# --- fits that share one ------------------------------------------------------------------------


@pytest.mark.parametrize("method", [PLCL, SURE, LALO, PLAGGD, PLKNN])
def test_results_are_those_of_fits_without_a_cache(method, rows):
    cache = FitCache()
    for _ in range(2):
        assert_same(method().fit(*rows, cache=cache), method().fit(*rows), rows[0])


@pytest.mark.parametrize("method", [PLCL, PLAGGD])
def test_the_cached_graph_does_not_change(method, rows):
    """A later fit must not start from the graph that an earlier one has refitted."""
    cache = FitCache()
    for mu in (4.0, 0.1, 4.0):
        model = method(mu=mu, **QUICK)
        assert_same(model.fit(*rows, cache=cache), method(mu=mu, **QUICK).fit(*rows), rows[0])
    assert cache.n_computed["graph"] == 1


@pytest.mark.parametrize("method", [PLCL, SURE, LALO, PLAGGD])
def test_another_kernel_is_another_factorization(method, rows):
    cache = FitCache()
    for params in ({}, {"sigma": 0.7}, {"sigma": 0.7}, {"reg": 0.5}):
        found = method(**QUICK, **params).fit(*rows, cache=cache)
        alone = method(**QUICK, **params).fit(*rows)
        assert_same(found, alone, rows[0])
        assert found.sigma_ == alone.sigma_
    assert cache.n_computed["kernel"] == 2
    assert cache.n_computed["factorization"] == (6 if method is PLCL else 3)


def test_equal_ridges_of_both_classifiers_are_one_factorization(rows):
    cache = FitCache()
    PLCL(alpha=1.0, **QUICK).fit(*rows, cache=cache)
    PLCL(complementary=False, **QUICK).fit(*rows, cache=cache)
    assert cache.n_computed["factorization"] == 1


def test_other_landmarks_are_other_features(rows):
    cache = FitCache()
    different = ({"n_landmarks": 10}, {"n_landmarks": 11}, {"n_landmarks": 10, "random_state": 1})
    for params in (*different, *different):
        params = {"random_state": 0, **QUICK, **params}
        assert_same(SURE(**params).fit(*rows, cache=cache), SURE(**params).fit(*rows), rows[0])
    assert cache.n_computed == {"features": 3, "moments": 3, "factorization": 3}


def test_the_linear_kernel_shares_its_moments(rows):
    cache = FitCache()
    for reg in (0.1, 1.0, 0.1):
        model = SURE(kernel="linear", reg=reg)
        assert_same(
            model.fit(*rows, cache=cache), SURE(kernel="linear", reg=reg).fit(*rows), rows[0]
        )
    assert cache.n_computed == {"moments": 1, "factorization": 2}


def metric(p):
    return lambda a, b: (abs(a - b) ** p).sum()


@pytest.mark.parametrize(
    "searches",
    [
        [KNeighborsTransformer(metric=metric(p), algorithm="brute") for p in (1, 4)],
        [
            KNeighborsTransformer(
                metric="mahalanobis", metric_params={"VI": np.diag(v)}, algorithm="brute"
            )
            for v in ([1.0, 1.0, 1.0, 1.0], [1e4, 1.0, 1.0, 1.0 + 1e-12])
        ],
    ],
    ids=["function", "array"],
)
def test_a_graph_is_shared_only_if_its_neighbors_are_the_same(rows, searches):
    cache = FitCache()
    for search in searches * 2:
        params = {"neighbors": search, **QUICK}
        found, alone = PLCL(**params).fit(*rows, cache=cache), PLCL(**params).fit(*rows)
        assert (found.graph_ != alone.graph_).nnz == 0
        assert_same(found, alone, rows[0])
    # A function cannot be compared with another, so these are searched each time.
    assert cache.n_computed["graph"] == (2 if isinstance(searches[0].metric, str) else 4)


def test_kernel_objects_are_compared_by_content(rows):
    cache, kernel = FitCache(), RBF(0.8)
    for width in (0.8, 0.8, 0.3):
        kernel.length_scale = width
        found = SURE(kernel=kernel).fit(*rows, cache=cache)
        assert_same(found, SURE(kernel=RBF(width)).fit(*rows), rows[0])
    assert cache.n_computed == {"kernel": 2, "factorization": 2}


def test_unseeded_landmarks_are_not_shared(rows):
    seeds = [np.random.RandomState(0) for _ in range(2)]
    cache = FitCache()
    for _ in range(2):
        params = {"n_landmarks": 9, **QUICK}
        found = SURE(random_state=seeds[0], **params).fit(*rows, cache=cache)
        alone = SURE(random_state=seeds[1], **params).fit(*rows)
        assert_same(found, alone, rows[0])


def test_rows_changed_in_place_are_rejected(rows):
    X, mask = rows[0].copy(), rows[1].to_mask()
    cache = FitCache()
    SURE(**QUICK).fit(X, mask, cache=cache)
    SURE(**QUICK).fit(X.tolist(), mask, cache=cache)  # the same rows in another form
    X[0] += 1
    with pytest.raises(ValueError, match="other rows"):
        SURE(**QUICK).fit(X, mask, cache=cache)


def test_changes_to_a_model_do_not_affect_the_cache(rows):
    X, sets = rows
    mask, few = sparse.csr_array(sets.to_mask()), {"n_landmarks": 9, "random_state": 0}
    cache = FitCache()
    for params in ({}, few) * 2:
        model = SURE(**params).fit(X, mask, cache=cache)
        expected = SURE(**params).fit(X, mask)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
        model.label_distributions_.eliminate_zeros()
        assert model.train_output_.nnz == mask.nnz
        if params:
            model.X_fit_[:] = 0


def test_the_fitted_model_is_an_ordinary_one(rows):
    model = PLCL(alpha=0.25).fit(*rows, cache=FitCache())
    assert_same(pickle.loads(pickle.dumps(model)), model, rows[0])
    assert not any(isinstance(value, FitCache) for value in vars(model).values())


def test_cache_releases_its_results(rows):
    cache = FitCache()
    model = SURE(**QUICK).fit(*rows, cache=cache)
    alive = weakref.ref(cache)
    del cache
    gc.collect()
    assert alive() is None
    assert model.predict(rows[0]).shape == (75,)


def test_failed_fit_does_not_break_the_cache(rows):
    cache = FitCache()
    with pytest.raises(ValueError, match="alpha"):
        PLCL(alpha=-1).fit(*rows, cache=cache)
    assert_same(PLCL().fit(*rows, cache=cache), PLCL().fit(*rows), rows[0])


def test_holds_is_true_for_cached_results(rows):
    cache = FitCache()
    assert not cache.holds("sum", ("a",))
    cache.get_or_compute("sum", ("a",), sum, [1, 2])
    assert cache.holds("sum", ("a",))
    assert not cache.holds("product", ("a",))
    assert not cache.holds("sum", ([],))  # a key without a hash is never found
    assert not NO_CACHE.holds("sum", ("a",))
    cache.for_last_use().get_or_compute("sum", ("a",), sum, [1, 2])
    assert not cache.holds("sum", ("a",))
