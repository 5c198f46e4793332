import numpy as np
import prepared
import pytest
import sklearn
from scipy import sparse

from ambilearn.backend import HOST, choose_backend
from ambilearn.backend.arrays import column_centers, on_device, subtract_from_rows, to_numpy

pytestmark = pytest.mark.array_library


def test_only_other_arrays_are_on_a_device_and_only_with_dispatch(library, monkeypatch):
    X = library.to_device(np.ones((2, 2)))
    if library.device == "cuda":
        with pytest.raises(ValueError, match="X is on the device cuda"):
            on_device(X)
    else:
        assert not on_device(X)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        assert on_device(X)
        assert not on_device(np.ones((2, 2)))
        assert not on_device([[1.0]])


def test_other_libraries_are_rejected(dispatch):
    array = pytest.importorskip("dask.array", reason="needs the extra dask")
    with pytest.raises(ValueError, match=r"Arrays of dask .* PyTorch tensor, a CuPy array"):
        on_device(array.ones((2, 2)))


def test_rows_by_their_numbers(library):
    X, rows = np.arange(12.0).reshape(4, 3), np.array([2, 0, 2])
    found = choose_backend(library.to_device(X)).take_rows(library.to_device(X), rows)
    assert library.holds(found)
    np.testing.assert_array_equal(library.to_host(found), X[rows])
    np.testing.assert_array_equal(HOST.take_rows(X, rows), X[rows])
    np.testing.assert_array_equal(HOST.take_rows(sparse.csr_array(X), rows).toarray(), X[rows])


def test_other_objects_come_back_unchanged():
    value = [1, 2]
    assert to_numpy(value) is value
    array = np.ones(2)
    assert to_numpy(array) is array


def test_no_library_for_devices_is_imported():
    """Ours import none unless asked."""
    code = "import ambilearn, sys; ambilearn.PLCL; print({'torch', 'cupy'} & set(sys.modules))"
    assert prepared.run(code=code)[:2] == (0, b"set()\n")


def test_dense_rows_are_centered_at_their_mean(library):
    X = np.random.default_rng(0).normal(size=(6, 3)) + 5
    there = library.to_device(X)
    centered = subtract_from_rows(there, column_centers(there))
    np.testing.assert_allclose(library.to_host(centered), X - X.mean(axis=0))


def test_sparse_rows_stay_sparse():
    X = np.zeros((10, 2000))
    X[:, 0] = np.arange(10) + 1e6  # all entries stored
    X[:6, 1] = 7.0  # more than half
    X[:4, 2] = 7.0
    S = sparse.csr_array(X)
    center = column_centers(S)
    np.testing.assert_array_equal(np.flatnonzero(center), [0, 1])
    np.testing.assert_array_equal(center[:2], [1e6 + 4.5, 7.0])
    centered = subtract_from_rows(S, center)
    assert sparse.issparse(centered)
    assert centered.nnz <= 20
    np.testing.assert_array_equal(centered.toarray(), X - center)
    assert subtract_from_rows(S, np.zeros(2000)) is S
