import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, PLStacking
from ambilearn.backend.arrays import to_numpy
from ambilearn.backend.host.products import nearest_in_matrix
from ambilearn.backend.ties import nearest_first, nearest_places, zero_if_coincident
from ambilearn.graph.approximate import order_by_row
from ambilearn.graph.neighbors import NeighborSearch


def test_different_distances_are_sorted(library):
    distances = np.random.default_rng(0).random((20, 15))
    found = library.to_host(nearest_first(library.to_device(distances)))
    np.testing.assert_array_equal(found, np.argsort(distances, axis=1))


@pytest.mark.parametrize("scale", [1.0, 1e70, 1e-70])
def test_rounding_decides_nothing_whatever_the_scale(library, scale):
    distances = scale * np.array([[3.0, 2.0 + 1e-14, 2.0, 1.0, 2.0 - 1e-14]])
    assert library.to_host(nearest_first(library.to_device(distances))).tolist() == [
        [3, 1, 2, 4, 0]
    ]


def test_zeros_and_infinities(library):
    distances = np.array([[np.inf, 0.0, 0.0], [np.inf, 2.0, 1.0], [np.inf, np.inf, np.inf]])
    found = library.to_host(nearest_first(library.to_device(distances))).tolist()
    assert found == [[1, 2, 0], [2, 1, 0], [0, 1, 2]]


def duplicates_but_for_rounding():
    """Five copies of each of twelve rows, each copy a rounding error off."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(12, 4)), 5, axis=0)
    return X, X * (1 + 1e-15 * rng.integers(-2, 3, size=X.shape))


def test_a_search_finds_the_same_among_duplicates_and_what_rounding_made_of_them(library, dispatch):
    exact, rounded = duplicates_but_for_rounding()
    expected = NeighborSearch().fit(exact, 7)[:, 4:]  # of the next group the first three
    np.testing.assert_array_equal(NeighborSearch().fit(rounded, 7)[:, 4:], expected)
    found = library.to_host(NeighborSearch().fit(library.to_device(rounded), 7))[:, 4:]
    np.testing.assert_array_equal(found, expected)
    distances = np.linalg.norm(rounded[:, None] - rounded[None], axis=2)
    np.testing.assert_array_equal(nearest_in_matrix(distances, 7)[:, 4:], expected)


def test_a_stack_of_rows_that_occur_several_times_is_the_same_on_every_device(library, dispatch):
    X, _ = duplicates_but_for_rounding()
    rng = np.random.default_rng(1)
    mask = np.eye(4, dtype=int)[np.arange(60) // 15] | (rng.random((60, 4)) < 0.3)
    stack = PLStacking(final_estimator=IPAL(n_neighbors=7)).set_params(
        plcl__max_iter=3, sure__max_iter=3, plcl__tol=0, sure__tol=0
    )
    host = stack.fit(X, mask).transduction_
    found = library.to_host(stack.fit(library.to_device(X), mask).transduction_)
    np.testing.assert_array_equal(found, host)


# --- ties for the last place ---------------------------------------------------------------------


def test_the_last_place_is_open_if_all_further_proposals_are_as_near(library):
    distances = np.array([[3.0, 1.0, 3.0 + 1e-14, 2.0], [1.0, 2.0, 3.0, 3.0], [2.0, 0.0, 1.0, 2.0]])
    distances = np.concatenate([distances, [[np.inf, 1.0, 1.0, 1.0]]])
    places, tied = nearest_places(library.to_device(distances), 3)
    assert library.to_host(places).tolist() == [[1, 3, 0], [0, 1, 2], [1, 2, 0], [1, 2, 3]]
    assert library.to_host(tied).tolist() == [True, True, True, True]
    _, tied = nearest_places(library.to_device(distances), 2)
    assert library.to_host(tied).tolist() == [False, False, False, True]


def test_rows_that_coincide_up_to_rounding_are_at_distance_zero(library):
    distances = library.to_device(np.array([[1e-14, 1e-12], [1e-14, 1e-12]]))
    lengths = library.to_device(np.array([[10.0], [0.1]]))
    found = library.to_host(zero_if_coincident(distances, lengths))
    np.testing.assert_array_equal(found, [[0, 1e-12], [1e-14, 1e-12]])


def make_rows(kind, seed):
    """Rows of four classes with many ties, candidate sets, and new rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=60)
    X = (rng.normal(size=(4, 4)) * 2)[y] + rng.normal(size=(60, 4))
    mask = rng.random((60, 4)) < 0.5
    mask[np.arange(60), y] = True
    some = rng.permutation(60)[:25]  # more than the ten neighbors and five further proposals
    if kind == "one zero row":
        X[5] = 0
    elif kind == "zero rows":
        X[[5, 9, 30]] = 0
    elif kind == "many zero rows":
        X[some] = 0
    elif kind == "duplicates":
        X[some] = X[3]
    elif kind == "multiples":  # duplicates up to rounding, once they have unit length
        X[some] = X[3] * rng.integers(1, 9, size=(25, 1))
    elif kind == "few distinct rows":
        X = X[rng.integers(3, size=60)]
    elif kind == "texts":
        X = np.where(rng.random((60, 40)) < 0.1, rng.integers(1, 4, size=(60, 40)), 0).astype(float)
        X[[5, 9, 30]] = 0
    new = rng.normal(size=(6, X.shape[1]))
    new[0], new[1] = 0, X[3]
    return X, mask, new


KINDS = (
    "one zero row", "zero rows", "many zero rows", "duplicates", "multiples", "few distinct rows",
    "texts",
)  # fmt: skip
METHODS_WITH_NEIGHBORS = [PLCL, PLAGGD, LALO, PLDA, IPAL, PLKNN]


def results(method, X, mask, new):
    model = method()
    if "max_iter" in model.get_params():
        model.set_params(max_iter=3, tol=0)
    model.fit(X, mask)
    return [to_numpy(each) for each in (model.label_distributions_, model.predict_proba(new))]


def assert_same(first, second, tolerance):
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
        best, other = np.sort(ours, axis=1)[:, :-3:-1].T
        clear = best > other + tolerance  # labels of equal confidence are left to rounding
        np.testing.assert_array_equal(ours.argmax(axis=1)[clear], theirs.argmax(axis=1)[clear])


def layouts(X):
    spaced = np.zeros((2 * len(X), X.shape[1] + 3))
    spaced[::2, 1:-2] = X
    yield np.asfortranarray(X)
    yield pd.DataFrame(X)
    yield spaced[::2, 1:-2]
    yield sparse.csr_array(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS_WITH_NEIGHBORS)
def test_ties_do_not_depend_on_the_layout(method, kind):
    X, mask, new = make_rows(kind, 120)
    expected = results(method, X, mask, new)
    # The least squares of IPAL are singular with more neighbors than features.
    tolerance = 1e-5 if method is IPAL else 1e-8
    for rows, new_rows in zip(layouts(X), layouts(new), strict=True):
        assert_same(results(method, rows, mask, new_rows), expected, tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [PLCL, PLAGGD, LALO, IPAL, PLKNN])
def test_ties_do_not_depend_on_the_library(library, dispatch, method, kind):
    X, mask, new = make_rows(kind, 120)
    tolerance = 1e-5 if method is IPAL else 1e-8
    found = results(method, library.to_device(X), mask, library.to_device(new))
    assert_same(found, results(method, X, mask, new), tolerance)


@pytest.mark.parametrize("kind", KINDS[:4])
@pytest.mark.parametrize("method", [PLCL, PLAGGD, LALO])
def test_a_linear_kernel_matrix_gives_the_same_graph(method, kind):
    X, mask, _ = make_rows(kind, 120)
    K = X @ X.T
    linear, precomputed = (
        method(kernel=kernel, max_iter=1, tol=0).fit(rows, mask).graph_.toarray()
        for kernel, rows in (("linear", X), ("precomputed", K))
    )
    np.testing.assert_allclose(precomputed, linear, atol=1e-5)


def test_order_by_row_is_that_of_lexsort():
    rng = np.random.default_rng(0)
    rows = rng.integers(40, size=3000)
    values = rng.choice([0.0, -0.0, 1.0, -1.0, np.inf, *rng.normal(size=20)], 3000)
    values = values.astype(np.float32)
    np.testing.assert_array_equal(order_by_row(rows, values), np.lexsort((values, rows)))
