import numpy as np
import pytest

from ambilearn import IPAL, PLStacking
from ambilearn.backend.ties import nearest_first
from ambilearn.graph.neighbors import NeighborSearch, nearest_in_matrix


def test_different_distances_are_sorted(there):
    distances = np.random.default_rng(0).random((20, 15))
    found = there.back(nearest_first(there.move(distances)))
    np.testing.assert_array_equal(found, np.argsort(distances, axis=1))


@pytest.mark.parametrize("scale", [1.0, 1e70, 1e-70])
def test_rounding_decides_nothing_whatever_the_scale(there, scale):
    distances = scale * np.array([[3.0, 2.0 + 1e-14, 2.0, 1.0, 2.0 - 1e-14]])
    assert there.back(nearest_first(there.move(distances))).tolist() == [[3, 1, 2, 4, 0]]


def test_zeros_and_infinities(there):
    distances = np.array([[np.inf, 0.0, 0.0], [np.inf, 2.0, 1.0], [np.inf, np.inf, np.inf]])
    found = there.back(nearest_first(there.move(distances))).tolist()
    assert found == [[1, 2, 0], [2, 1, 0], [0, 1, 2]]


def duplicates_but_for_rounding():
    """Five copies of each of twelve rows, each copy a rounding error off."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(12, 4)), 5, axis=0)
    return X, X * (1 + 1e-15 * rng.integers(-2, 3, size=X.shape))


def test_a_search_finds_the_same_among_duplicates_and_what_rounding_made_of_them(there, dispatch):
    exact, rounded = duplicates_but_for_rounding()
    expected = NeighborSearch().fit(exact, 7)[:, 4:]  # of the next group the first three
    np.testing.assert_array_equal(NeighborSearch().fit(rounded, 7)[:, 4:], expected)
    found = there.back(NeighborSearch().fit(there.move(rounded), 7))[:, 4:]
    np.testing.assert_array_equal(found, expected)
    distances = np.linalg.norm(rounded[:, None] - rounded[None], axis=2)
    np.testing.assert_array_equal(nearest_in_matrix(distances, 7)[:, 4:], expected)


def test_a_stack_of_rows_that_occur_several_times_is_the_same_on_every_device(there, dispatch):
    X, _ = duplicates_but_for_rounding()
    rng = np.random.default_rng(1)
    mask = np.eye(4, dtype=int)[np.arange(60) // 15] | (rng.random((60, 4)) < 0.3)
    stack = PLStacking(final_estimator=IPAL(n_neighbors=7)).set_params(
        plcl__max_iter=3, sure__max_iter=3, plcl__tol=0, sure__tol=0
    )
    host = stack.fit(X, mask).transduction_
    found = there.back(stack.fit(there.move(X), mask).transduction_)
    np.testing.assert_array_equal(found, host)
