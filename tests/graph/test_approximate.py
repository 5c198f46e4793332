"""The approximate search of the extra ``ann``, as a transformer and inside the methods."""

import pickle

import numpy as np
import prepared
import pytest
from scikit_learn_checks import every_check
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from ambilearn.graph.approximate import ApproximateNeighbors
from ambilearn.graph.neighbors import NeighborSearch

faiss = pytest.importorskip("faiss", reason="needs the extra 'ann': pip install 'ambilearn[ann]'")


@pytest.fixture(scope="module")
def X():
    """Twenty clusters of two hundred rows: small cells cut through them."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 12)).repeat(200, axis=0) + 0.5 * rng.normal(size=(4000, 12))


@every_check([ApproximateNeighbors()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def recall(found, exact):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)])


def test_recall_is_high_and_grows_with_probes(X):
    exact = NeighborSearch("exact").fit(X, 10)
    recalls = []
    for probes in (1, 4, 16):
        transformer = ApproximateNeighbors(cell_size=50, n_probes=probes)
        found = NeighborSearch(transformer).fit(X, 10)
        assert (found != np.arange(4000)[:, None]).all()
        recalls.append(recall(found, exact))
    assert recalls[0] < recalls[1] < recalls[2]
    assert recalls[0] > 0.3
    assert recalls[2] > 0.97


def test_all_probes_are_an_exact_search(X):
    for transformer in (ApproximateNeighbors(cell_size=50, n_probes=80), ApproximateNeighbors()):
        search, exact = NeighborSearch(transformer), NeighborSearch("exact")
        np.testing.assert_array_equal(search.fit(X[:3000], 7), exact.fit(X[:3000], 7))
        np.testing.assert_array_equal(search.query(X[3000:], 7), exact.query(X[3000:], 7))


def test_the_graph_is_that_of_scikit_learns_transformer(X):
    ours = ApproximateNeighbors(n_neighbors=4, n_probes=8).fit(X[:500])
    theirs = KNeighborsTransformer(n_neighbors=4).fit(X[:500])
    for rows in (X[:500], X[500:600]):
        graph, expected = ours.transform(rows), theirs.transform(rows)
        assert graph.format == "csr"
        assert graph.shape == expected.shape
        assert graph.nnz == expected.nnz  # the row itself is stored, at distance zero
        np.testing.assert_allclose(graph.toarray(), expected.toarray(), atol=1e-5)
    assert ours.get_feature_names_out()[499] == "approximateneighbors499"


@pytest.mark.parametrize("block", [1, 2**10])
def test_graph_does_not_depend_on_row_blocks(X, block, monkeypatch):
    expected = ApproximateNeighbors(cell_size=50).fit_transform(X)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", block)
    graph = ApproximateNeighbors(cell_size=50).fit_transform(X)
    np.testing.assert_array_equal(graph.indptr, expected.indptr)
    assert abs(graph - expected).max() < 1e-5  # of single precision


def test_result_is_deterministic(X):
    threads = faiss.omp_get_max_threads()
    graphs = []
    try:
        for n_threads in (1, 2, 2, 5):
            faiss.omp_set_num_threads(n_threads)
            graphs.append(ApproximateNeighbors(cell_size=50).fit_transform(X))
    finally:
        faiss.omp_set_num_threads(threads)
    for graph in graphs[1:]:
        np.testing.assert_array_equal(graph.indices, graphs[0].indices)
        np.testing.assert_array_equal(graph.data, graphs[0].data)


@pytest.mark.parametrize(("scale", "shift"), [(1e60, 0.0), (1e-60, 0.0), (1.0, 1e6)])
def test_features_beyond_single_precision(X, scale, shift):
    """Rows are centered and scaled before they are rounded."""
    rows = X[:1500] * scale + shift
    found = NeighborSearch(ApproximateNeighbors(n_probes=2)).fit(rows, 5)
    expected = NeighborSearch(ApproximateNeighbors(n_probes=2)).fit(X[:1500], 5)
    assert recall(found, expected) > 0.999


def test_identical_rows():
    found = NeighborSearch("approximate").fit(np.ones((30, 9)), 5)
    assert (found != np.arange(30)[:, None]).all()
    assert all(len(set(row)) == 5 for row in found)


def test_small_cells_are_searched_exactly():
    """A row far from all others is alone in its cell."""
    X = np.random.default_rng(0).normal(size=(400, 3))
    X[7] += 1e3
    transformer = ApproximateNeighbors(cell_size=4, n_probes=1)
    assert np.diff(transformer.fit_transform(X).indptr).min() < 6
    with pytest.warns(UserWarning, match="ApproximateNeighbors found fewer than 6"):
        found = NeighborSearch(transformer).fit(X, 6)
    assert found[7].tolist() == np.argsort(cdist(X[7:8], X)[0])[1:7].tolist()


def test_pickles_and_clones(X):
    transformer = ApproximateNeighbors(n_neighbors=3, cell_size=50).fit(X)
    again = pickle.loads(pickle.dumps(transformer))
    assert abs(again.transform(X[:50]) - transformer.transform(X[:50])).max() == 0
    unfitted = pickle.loads(pickle.dumps(clone(transformer)))
    assert unfitted.get_params() == transformer.get_params()
    assert not hasattr(unfitted, "index_")


def test_works_in_scikit_learn_pipelines(X):
    """As in its example of approximate neighbors for t-SNE."""
    pipeline = make_pipeline(
        ApproximateNeighbors(n_neighbors=12), Isomap(n_neighbors=12, metric="precomputed")
    )
    exact = make_pipeline(
        KNeighborsTransformer(n_neighbors=12), Isomap(n_neighbors=12, metric="precomputed")
    )
    rows = X[:200]  # one cluster
    np.testing.assert_allclose(
        np.abs(pipeline.fit_transform(rows)), np.abs(exact.fit_transform(rows)), atol=1e-3
    )


def test_errors_name_the_parameter(X):
    for parameter in ("n_neighbors", "cell_size", "n_probes"):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of ApproximateNeighbors"):
            ApproximateNeighbors(**{parameter: 0}).fit(X)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        ApproximateNeighbors().fit(sparse.csr_array(X))


def test_faiss_is_imported_lazily():
    code = """
import sys
from ambilearn import PLKNN
PLKNN(n_neighbors=2).fit([[1, 0], [0, 1], [1, 1], [2, 1]], [{0}, {1}, {0, 1}, {0, 1}])
print("faiss" in sys.modules)
"""
    assert prepared.run(code=code)[:2] == (0, b"False\n")


def test_the_search_is_that_of_faiss(X):
    """Also in cells with fewer rows than neighbors."""
    for cell_size in (5, 50):
        transformer = ApproximateNeighbors(n_neighbors=9, cell_size=cell_size, n_probes=3).fit(X)
        transformer.index_.nprobe = 3
        graph = transformer.transform(X[:700])
        squared, expected = transformer.index_.search(transformer._to_single(X[:700]), 10)
        for i, (columns, distances) in enumerate(zip(expected, squared, strict=True)):
            row = slice(graph.indptr[i], graph.indptr[i + 1])
            assert set(graph.indices[row]) == set(columns[columns >= 0])
            found = np.sort(graph.data[row] / transformer._scale)
            np.testing.assert_allclose(found, np.sqrt(distances[columns >= 0]), rtol=1e-5)
