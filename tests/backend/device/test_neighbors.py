import numpy as np
import pytest

from ambilearn.backend import device_arrays
from ambilearn.backend.device import neighbors as search
from ambilearn.backend.device.neighbors import DeviceSearch
from ambilearn.graph.neighbors import NeighborSearch


@pytest.fixture(params=[(32, 2**27), (4, 2**27), (4, 1000)])
def groups(request, monkeypatch):
    """Groups larger than the rows allow, groups, and groups in blocks of few rows."""
    monkeypatch.setattr(search, "_GROUP", request.param[0])
    monkeypatch.setattr(device_arrays, "ON_DEVICE", request.param[1])


def rows(n=101, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


def test_finds_the_neighbors_that_the_processor_finds(library, groups):
    X = rows()
    found = DeviceSearch(library.to_device(X)).nearest(None, 5)
    np.testing.assert_array_equal(library.to_host(found), NeighborSearch("exact").fit(X, 5))


def test_neighbors_of_new_rows(library, groups):
    X, queries = rows(), rows(17)[::-1] + 0.1
    host = NeighborSearch("exact")
    host.fit(X, 5)
    found = DeviceSearch(library.to_device(X)).nearest(library.to_device(queries.copy()), 5)
    np.testing.assert_array_equal(library.to_host(found), host.query(queries, 5))


def test_a_row_among_many_duplicates_is_not_its_own_neighbor(library, groups):
    found = library.to_host(DeviceSearch(library.to_device(np.zeros((60, 2)))).nearest(None, 3))
    assert (found != np.arange(60)[:, None]).all()


def test_ties_beyond_the_proposed_neighbors_go_to_the_lower_numbers(library, groups):
    X = rows()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[40], X[60:90] = 0, X[60]  # equally far from all rows; more duplicates than k + 5
    found = library.to_host(DeviceSearch(library.to_device(X)).nearest(None, 5))
    assert found[40].tolist() == [0, 1, 2, 3, 4]
    assert found[[60, 61, 89]].tolist() == [
        [61, 62, 63, 64, 65], [60, 62, 63, 64, 65], [60, 61, 62, 63, 64]
    ]  # fmt: skip
    np.testing.assert_array_equal(found, NeighborSearch("exact").fit(X, 5))
    new = library.to_host(
        DeviceSearch(library.to_device(X)).nearest(library.to_device(X[[40, 89]]), 5)
    )
    assert new.tolist() == [[40, 0, 1, 2, 3], [60, 61, 62, 63, 64]]


def test_rows_far_from_the_origin(library, groups):
    X = rows() + 1e6
    found = library.to_host(DeviceSearch(library.to_device(X)).nearest(None, 5))
    np.testing.assert_array_equal(found, NeighborSearch("exact").fit(X, 5))


def test_as_many_neighbors_as_there_are(library, groups):
    found = library.to_host(DeviceSearch(library.to_device(rows(6))).nearest(None, 5))
    assert [sorted(row) for row in found] == [[j for j in range(6) if j != i] for i in range(6)]


def test_the_search_stays_on_the_device(library):
    host = NeighborSearch()
    assert library.holds(host.fit(library.to_device(rows()), 4))
    assert library.holds(host.query(library.to_device(rows(3)), 4))


def test_other_searches_are_rejected(library):
    with pytest.raises(ValueError, match="On a device the neighbors are searched exactly"):
        NeighborSearch("approximate").fit(library.to_device(rows()), 4)


def test_a_search_can_be_copied_to_a_device(library):
    host = NeighborSearch()
    host.fit(rows(), 4)
    moved = host.to_device(library.to_device)
    np.testing.assert_array_equal(
        library.to_host(moved.query(library.to_device(rows(7)), 4)), host.query(rows(7), 4)
    )
    back = moved.to_device(library.to_host)
    np.testing.assert_array_equal(back.query(rows(7), 4), host.query(rows(7), 4))
