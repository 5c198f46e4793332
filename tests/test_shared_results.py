import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsTransformer

from ambilearn import shared_results
from ambilearn.shared_results import NotReproducible, SharedResults, count_bytes, value_key


def test_what_cannot_be_compared_by_value_is_computed_again():
    results, made = SharedResults(), []
    unpicklable = KNeighborsTransformer(metric=lambda a, b: 0.0)
    for key in (unpicklable, NotReproducible, ("nested", (NotReproducible,)), "known"):
        for _ in range(2):
            results.get(("list", key), made.append, key)
    assert len(made) == 2 + 2 + 2 + 1


def test_objects_are_compared_by_their_content():
    transformer = KNeighborsTransformer(n_neighbors=7)
    others = ("auto", "exact", 0.5, KNeighborsTransformer(n_neighbors=7, p=1), None, (1, "a"))
    assert len({value_key(each) for each in (transformer, clone(transformer), *others)}) == 7
    kernel = RBF(0.8)
    before = value_key(kernel)
    kernel.length_scale = 0.9
    assert value_key(kernel) != before == value_key(RBF(0.8))


def test_the_results_used_least_recently_are_dropped_above_the_limit(monkeypatch):
    monkeypatch.setattr(shared_results, "_MIN_BYTES", 3 * 800)
    monkeypatch.setattr(shared_results, "_MIN_RESULTS", 1)
    results, made = SharedResults(), []

    def compute(name, size=100):
        made.append(name)
        return np.zeros(size)

    for name in "abcabdacb":  # d drops c; a stays; c drops b, and b drops d
        results.get((name,), compute, name)
    assert "".join(made) == "abcdcb"
    results.get(("large",), compute, "large", 1000)  # the largest one is always kept
    results.get(("large",), compute, "large", 1000)
    assert made.count("large") == 1


def test_bytes_are_those_of_all_arrays_in_an_object():
    X, matrix = np.zeros((10, 3)), sparse.csr_array(np.eye(4))
    of_matrix = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    assert count_bytes((X, [matrix, X], "text", 3, None)) == 240 + of_matrix
    assert count_bytes(SharedResults()) == 0
    assert count_bytes(np) == 0


def test_memory_is_freed_for_a_result_that_does_not_fit():
    results, calls = SharedResults(), []

    def compute():
        calls.append(len(results._kept))
        if calls[-1]:
            raise MemoryError
        return 7

    results.get(("first",), np.zeros, 3)
    assert results.get(("second",), compute) == 7
    assert calls == [1, 0]
    with pytest.raises(ZeroDivisionError):  # other errors are reported, and nothing is kept
        results.get(("ratio",), lambda: 1 / 0)
    assert results.get(("ratio",), lambda: 2.0) == 2.0
