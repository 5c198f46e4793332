"""Neighbor search with every value of the parameter ``neighbors``."""

import pickle
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
from literal import knn
from literal_methods import nearest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ambilearn.backend import HOST
from ambilearn.backend.host.neighbors import neighbor_distances
from ambilearn.backend.host.products import nearest_in_matrix
from ambilearn.graph import neighbors as module
from ambilearn.graph import transformer_search
from ambilearn.graph.neighbors import NeighborSearch, find_neighbors, usable_neighbors, value_of
from ambilearn.solvers import Solution

needs_ann = pytest.mark.skipif(
    not transformer_search.find_spec("faiss"),
    reason="needs the extra 'ann': pip install 'ambilearn[ann]'",
)
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(40, 5)), rng.normal(size=(12, 5))
    X[np.abs(X) < 0.3] = 0
    return X, queries


@pytest.fixture
def X(data):
    return data[0]


class Listed(TransformerMixin, BaseEstimator):
    """A neighbors transformer that returns a given graph."""

    def __init__(self, graph=None, graph_of_new=None):
        self.graph = graph
        self.graph_of_new = graph_of_new

    def fit_transform(self, X, y=None):
        return self.graph

    def transform(self, X):
        return self.graph_of_new


def full_graph(X, Z=None):
    """All distances, every one stored, also those that are zero."""
    distances = cdist(X, X if Z is None else Z)
    m, n = distances.shape
    parts = (distances.ravel(), np.tile(np.arange(n), m), np.arange(0, m * n + 1, n))
    return sparse.csr_array(parts, shape=(m, n))


# --- exact --------------------------------------------------------------------------------------


def test_usable_neighbors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert usable_neighbors(3, 4) == 3
    with pytest.warns(UserWarning, match="n_neighbors=4 but there are only 4 rows") as caught:
        assert usable_neighbors(4, 4) == 3
    assert "graph" not in str(caught[0].message)  # PL-KNN has none
    assert caught[0].filename == __file__


@forms
def test_neighbors_by_full_distance_matrix(X, form):
    np.testing.assert_array_equal(NeighborSearch().fit(form(X), 6), knn(X, 6))


@pytest.mark.parametrize("form", ["dense", "sparse", "matrix", "queries", "transformer", "radius"])
def test_duplicates_that_tie_for_the_last_place_come_in_order(X, form):
    """Row 0 has three neighbors nearer than a group of four duplicates, of which two fit."""
    X[1:4] = X[0] + 1e-3 * X[1:4]
    X[[30, 12, 25, 7]] = X[0] + 0.01
    if form == "matrix":
        neighbor_indices = nearest_in_matrix(cdist(X, X), 5)
    elif form == "queries":
        search = NeighborSearch()
        search.fit(X[1:], 5)
        neighbor_indices = search.query(X[:1], 5) + 1
    elif form == "transformer":
        neighbor_indices = NeighborSearch(KNeighborsTransformer()).fit(X, 5)
    elif form == "radius":
        neighbor_indices = NeighborSearch(RadiusNeighborsTransformer(radius=9.0)).fit(X, 5)
    else:
        neighbor_indices = NeighborSearch().fit(sparse.csr_array(X) if form == "sparse" else X, 5)
    assert sorted(neighbor_indices[0, :3]) == [1, 2, 3]
    assert neighbor_indices[0, 3:].tolist() == [7, 12]


@pytest.mark.parametrize("form", ["dense", "fortran", "sparse", "matrix", "queries", "transformer"])
@pytest.mark.parametrize("dimensions", [5, 20])  # found by a tree, and by comparing all
def test_ties_beyond_the_proposed_neighbors_go_to_the_lower_numbers(form, dimensions):
    """Thirty duplicates, more than k + 5; and a row at the same distance from all rows."""
    X = np.eye(dimensions)[np.arange(60) % dimensions]
    X[np.random.default_rng(0).permutation(60)[:30]] = X[7] + 0
    X[11] = 0
    exact = cdist(X, X).round(6) + np.diag([np.inf] * 60)
    expected = np.argsort(exact, axis=1, kind="stable")[:, :5]
    assert expected[11].tolist() == [0, 1, 2, 3, 4]
    noisy = X * (1 + 1e-16)
    if form == "matrix":
        found = nearest_in_matrix(cdist(noisy, noisy), 5)
    elif form == "queries":
        search = NeighborSearch()
        search.fit(noisy, 5)
        found = search.query(X, 5)
        expected = np.argsort(cdist(X, X).round(6), axis=1, kind="stable")[:, :5]
    elif form == "transformer":
        found = NeighborSearch(KNeighborsTransformer()).fit(noisy, 5)
    else:
        as_form = {"dense": np.asarray, "fortran": np.asfortranarray, "sparse": sparse.csr_array}
        found = NeighborSearch().fit(as_form[form](noisy), 5)
    np.testing.assert_array_equal(found, expected)


def test_a_transformer_decides_ties_that_take_too_many_comparisons(X, monkeypatch):
    X[:30] = X[0]
    monkeypatch.setattr(transformer_search, "_MAX_PAIRS", 10)
    monkeypatch.setattr(transformer_search.TransformerSearch, "_complete", None)  # is not called
    found = NeighborSearch(KNeighborsTransformer()).fit(X, 5)
    assert (neighbor_distances(X, X, found)[:30] == 0).all()


@forms
@pytest.mark.parametrize("k", [1, 7, 40])
@pytest.mark.parametrize("neighbors", ["exact", KNeighborsTransformer()])
def test_neighbors_of_new_rows(data, form, k, neighbors):
    X, queries = data
    search = NeighborSearch(neighbors)
    search.fit(form(X), min(k, 39))
    found = search.query(form(queries), k)
    np.testing.assert_array_equal(found, [nearest(x, X, k)[0] for x in queries])


@forms
def test_no_matrix_of_all_distances_is_made(form):
    """Sparse rows are compared in blocks of scikit-learn's working memory, dense ones at once."""
    X = form(np.random.default_rng(0).normal(size=(2000, 20)))
    tracemalloc.start()
    try:
        with config_context(working_memory=4):
            NeighborSearch("exact").fit(X, 3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2000**2 * 8 / 2


# --- transformers -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:KNeighborsTransformer found fewer:UserWarning")
@pytest.mark.parametrize("k", [1, 6, 38, 39])
@pytest.mark.parametrize(
    "transformer",
    [
        KNeighborsTransformer(),
        KNeighborsTransformer(n_neighbors=2, mode="connectivity"),  # counts the row itself
        KNeighborsTransformer(n_neighbors=1000),
        KNeighborsTransformer(algorithm="kd_tree", metric="euclidean"),
        RadiusNeighborsTransformer(radius=100.0),  # everybody
        RadiusNeighborsTransformer(radius=100.0, mode="connectivity"),
        make_pipeline(FunctionTransformer(), KNeighborsTransformer(n_neighbors=39)),
    ],
    ids=str,
)
def test_exact_transformers_find_the_exact_neighbors(data, transformer, k):
    X, queries = data
    before = transformer.get_params()
    search, exact = NeighborSearch(transformer), NeighborSearch("exact")
    np.testing.assert_array_equal(search.fit(X, k), exact.fit(X, k))
    np.testing.assert_array_equal(search.query(queries, k), exact.query(queries, k))
    assert not hasattr(transformer, "n_samples_fit_")  # a clone was fitted
    assert transformer.get_params() == before


@pytest.mark.parametrize(("own", "k", "asked"), [(2, 4, 10), (15, 4, 15), (2, 30, 36), (99, 4, 39)])
def test_transformer_searches_additional_neighbors(X, own, k, asked):
    """Never for more than there are other rows."""
    seen = []

    class Watched(KNeighborsTransformer):
        def fit_transform(self, X, y=None):
            seen.append(self.n_neighbors)
            return super().fit_transform(X)

    NeighborSearch(Watched(n_neighbors=own)).fit(X, k)
    assert seen == [asked]


@pytest.mark.parametrize("wrong", [KNeighborsTransformer, "fast", 7, None])
def test_invalid_neighbors_raise(wrong):
    with pytest.raises(ValueError, match=r"pass an instance: KNeighborsTransformer\(\.\.\.\)"):
        NeighborSearch(wrong)


@pytest.mark.parametrize("with_own_row", [True, False])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
def test_own_row_in_the_graph_is_ignored(X, with_own_row, form):
    graph = full_graph(X).tocoo()
    keep = np.ones(graph.nnz, bool) if with_own_row else graph.row != graph.col
    graph = sparse.coo_array((graph.data[keep], (graph.row[keep], graph.col[keep])), (40, 40))
    np.testing.assert_array_equal(NeighborSearch(Listed(form(graph))).fit(X, 6), knn(X, 6))


def test_duplicate_graph_entries_count_once(X):
    rows, columns = np.repeat(np.arange(40), 40), np.tile(np.arange(40), 40)
    twice = sparse.coo_array(
        (np.ones(3200), (np.tile(rows, 2), np.tile(columns, 2))), shape=(40, 40)
    )
    np.testing.assert_array_equal(NeighborSearch(Listed(twice)).fit(X, 6), knn(X, 6))


def test_the_graph_of_the_transformer_is_not_changed(X):
    graph = full_graph(X)
    before = graph.copy()
    NeighborSearch(Listed(graph)).fit(X, 6)
    np.testing.assert_array_equal(graph.indices, before.indices)
    np.testing.assert_array_equal(graph.data, before.data)


def test_rows_with_too_few_neighbors_are_searched_exactly(data):
    X, queries = data
    X[[5, 6, 7, 8, 9, 10, 11, 12]] = X[4]  # more duplicates than the search looks beyond k
    graph, new = full_graph(X).tolil(), full_graph(queries, X).tolil()
    graph[4], new[3] = 0, 0
    graph[11, :36] = 0  # four are left
    transformer = Listed(graph.tocsr(), new.tocsr())
    search, exact = NeighborSearch(transformer), NeighborSearch("exact")
    with pytest.warns(UserWarning, match="fewer than 6 neighbors for .* of 40 rows") as caught:
        found = search.fit(X, 6)
    assert caught[0].filename == __file__
    assert (found != np.arange(40)[:, None]).all()
    assert all(len(set(row)) == 6 for row in found)
    distances = neighbor_distances(X, X, exact.fit(X, 6))
    np.testing.assert_array_equal(neighbor_distances(X, X, found), distances)
    with pytest.warns(UserWarning, match="fewer than 6 neighbors for 1 of 12 rows"):
        np.testing.assert_array_equal(search.query(queries, 6), exact.query(queries, 6))


def test_few_short_rows_cause_no_warning(X):
    X = np.random.default_rng(0).normal(size=(200, 4))
    graph = full_graph(X).tolil()
    graph[17] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(NeighborSearch(Listed(graph.tocsr())).fit(X, 6), knn(X, 6))


def test_metric_of_the_transformer_is_used(data):
    X, queries = data
    search = NeighborSearch(KNeighborsTransformer(metric="manhattan"))
    expected = np.argsort(cdist(X, X, "cityblock") + np.diag([np.inf] * 40), axis=1)[:, :6]
    np.testing.assert_array_equal(search.fit(X, 6), expected)
    assert (expected != knn(X, 6)).any()
    expected = np.argsort(cdist(queries, X, "cityblock"), axis=1)[:, :6]
    np.testing.assert_array_equal(search.query(queries, 6), expected)
    other = NeighborSearch(KNeighborsTransformer(p=1)).fit(X, 6)
    np.testing.assert_array_equal(other, search.fit(X, 6))


def test_too_few_neighbors_in_another_metric_are_an_error(X):
    search = NeighborSearch(RadiusNeighborsTransformer(radius=1e-9, metric="manhattan"))
    with pytest.raises(ValueError, match=r"fewer than 6 neighbors for 40 of 40 rows.* row 0"):
        search.fit(X, 6)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.zeros((40, 40)), "Listed must return a sparse matrix of distances.* ndarray"),
        (None, "must return a sparse matrix.* NoneType"),
        (sparse.csr_array((40, 39)), r"of shape \(40, 40\).* shape \(40, 39\)"),
        (sparse.csr_array((39, 40)), r"of shape \(40, 40\).* shape \(39, 40\)"),
    ],
)
def test_invalid_graph_raises(X, graph, message):
    with pytest.raises(ValueError, match=message):
        NeighborSearch(Listed(graph)).fit(X, 6)


def test_row_indices_out_of_range_raise(X):
    graph = full_graph(X)
    graph.indices[5] = -1  # what an index gives that has found nothing
    with pytest.raises(ValueError, match=r"Listed is a damaged sparse matrix"):
        NeighborSearch(Listed(graph)).fit(X, 6)


def test_the_graph_of_new_rows_is_checked(data):
    X, queries = data
    search = NeighborSearch(Listed(full_graph(X), full_graph(X)))
    search.fit(X, 6)
    with pytest.raises(ValueError, match=r"of shape \(12, 40\)"):
        search.query(queries, 6)


def test_pynndescent():
    pynndescent = pytest.importorskip(
        "pynndescent", reason="needs pynndescent, which compiles itself for a minute"
    )
    X = np.random.default_rng(0).normal(size=(300, 6))
    transformer = pynndescent.PyNNDescentTransformer(random_state=0, n_jobs=1)
    search, exact = NeighborSearch(transformer), NeighborSearch("exact")
    found, expected = search.fit(X[:250], 5), exact.fit(X[:250], 5)
    assert (found == expected).mean() > 0.9
    assert (found != np.arange(250)[:, None]).all()
    found, expected = search.query(X[250:], 5), exact.query(X[250:], 5)
    assert (found == expected).mean() > 0.9


@pytest.mark.parametrize("neighbors", ["exact", KNeighborsTransformer()])
def test_search_can_be_pickled(data, neighbors):
    X, queries = data
    search = NeighborSearch(neighbors)
    search.fit(X, 6)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.query(queries, 6), search.query(queries, 6))


# --- the automatic choice -----------------------------------------------------------------------


@pytest.fixture
def small_limits(monkeypatch):
    """What counts as many rows here."""
    monkeypatch.setattr(module, "_MAX_EXACT_ROWS", 30)
    monkeypatch.setattr(module, "_EXACT_FEATURES", 4)


@needs_ann
def test_many_rows_are_searched_approximately(X, small_limits):
    for rows, approximate in ((X, True), (X[:30], False), (X[:, :4], False)):
        search = NeighborSearch()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            search.fit(rows, 3)
        assert search._neighbors == ("approximate" if approximate else "exact")


def test_exact_search_without_the_extra_warns_about_time(X, small_limits, monkeypatch):
    monkeypatch.setattr(transformer_search, "find_spec", lambda name: None)
    monkeypatch.setattr(transformer_search, "_EXACT_SPEED", 40**2 * 5 / (60 * 7))
    with pytest.warns(UserWarning, match=r"40 rows .* exactly .* about 7 min") as caught:
        found = NeighborSearch().fit(X, 6)
    np.testing.assert_array_equal(found, knn(X, 6))
    assert "pip install 'ambilearn[ann]'" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_many_sparse_rows_are_searched_exactly_with_a_warning(X, small_limits):
    with pytest.warns(UserWarning, match="rows are sparse.*TruncatedSVD"):
        found = NeighborSearch().fit(sparse.csr_array(X), 6)
    np.testing.assert_array_equal(found, knn(X, 6))


def test_explicit_exact_search_does_not_warn(X, small_limits, monkeypatch):
    monkeypatch.setattr(transformer_search, "find_spec", lambda name: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NeighborSearch("exact").fit(X, 6)


def test_approximate_search_without_the_extra_names_it(X, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"needs faiss: pip install 'ambilearn\[ann\]'"):
        NeighborSearch("approximate").fit(X, 6)


def test_approximate_search_of_sparse_rows_raises(X):
    with pytest.raises(ValueError, match=r"does not support sparse X.*TruncatedSVD"):
        NeighborSearch("approximate").fit(sparse.csr_array(X), 6)


def test_kernel_matrix_supports_exact_search_only(X):
    for neighbors in ("auto", "exact"):
        assert find_neighbors(X @ X.T, 3, neighbors, "kernel", HOST).indices.shape == (len(X), 3)
    for neighbors in ("approximate", KNeighborsTransformer()):
        with pytest.raises(ValueError, match=r"kernel='precomputed'.* 'auto' or 'exact', not"):
            find_neighbors(X @ X.T, 3, neighbors, "kernel", HOST)


@needs_ann
def test_automatic_choice_is_pickled(X, small_limits, monkeypatch):
    search = NeighborSearch()
    search.fit(X, 6)
    pickled = pickle.dumps(search)
    monkeypatch.undo()
    assert pickle.loads(pickled)._neighbors == "approximate"


def test_warning_of_an_inexact_solution_has_residual_and_advice():
    solution = Solution("near", False, 7, 0.002)
    with pytest.warns(ConvergenceWarning, match=r"weights are not exact.*2.0e-03 after 7 steps"):
        assert value_of(solution, "weights") == "near"


@forms
@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_neighbors_far_from_the_origin(form, offset):
    rng = np.random.default_rng(0)
    # Multiples of a power of two: the offset changes no digit.
    X, queries = (np.round(rng.normal(size=(n, 20)) * 2**16) / 2**16 for n in (300, 40))
    search, far = NeighborSearch(), NeighborSearch()
    np.testing.assert_array_equal(far.fit(form(X + offset), 5), search.fit(X, 5))
    np.testing.assert_array_equal(far.query(form(queries + offset), 5), search.query(queries, 5))
