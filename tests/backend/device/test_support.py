import numpy as np
import pytest

from ambilearn.backend import HOST, choose_backend
from ambilearn.candidates import as_candidates

SETS = HOST.support(
    as_candidates([{"a": 1.0, "b": 3.0}, {"c": 2.0}, {"a": 1.0, "b": 1.0, "c": 2.0}])
)
VALUES = np.array([0.2, 0.8, 1.0, 0.3, 0.6, 0.6])


@pytest.fixture
def sets(library):
    return choose_backend(library.to_device(np.zeros(1))).support(SETS.sets)


@pytest.mark.parametrize("name", ["sizes", "rows", "labels", "indptr", "relative_weights"])
def test_holds_what_the_processor_holds(library, sets, name):
    assert library.holds(getattr(sets, name))
    np.testing.assert_array_equal(library.to_host(getattr(sets, name)), getattr(SETS, name))


@pytest.mark.parametrize("name", ["uniform", "prior", "preference"])
def test_shares(library, sets, name):
    np.testing.assert_array_equal(library.to_host(getattr(sets, name)()), getattr(SETS, name)())


@pytest.mark.parametrize("off_support", [0.0, 0.5, np.array([1.0, 2.0, 3.0])])
def test_fills_a_matrix(library, sets, off_support):
    off = library.to_device(off_support) if isinstance(off_support, np.ndarray) else off_support
    expected = SETS.scatter(VALUES, off_support)
    values = library.to_device(VALUES)
    np.testing.assert_array_equal(library.to_host(sets.scatter(values, off)), expected)
    part = off[1:3] if isinstance(off_support, np.ndarray) else off
    found = sets.scatter_rows(values, part, slice(1, 3))
    np.testing.assert_array_equal(library.to_host(found), expected[1:])


def test_reads_a_matrix(library, sets):
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(
        library.to_host(sets.gather(library.to_device(matrix))), SETS.gather(matrix)
    )


def test_the_best_candidate_is_the_first_of_equals(library, sets):
    values = library.to_device(VALUES)
    assert library.to_host(sets.best_labels(values)).tolist() == SETS.best_labels(VALUES).tolist()
    assert library.to_host(sets.largest(values)).tolist() == SETS.largest(VALUES).tolist()
    assert sets.best(library.to_device(SETS.scatter(VALUES))).tolist() == ["b", "c", "b"]


def test_weights_of_rows(library):
    from dataclasses import replace

    weighted = replace(SETS.sets, row_weights=np.array([1.0, 2.0, 4.0]))
    sets = choose_backend(library.to_device(np.zeros(1))).support(weighted)
    assert library.to_host(sets.pair_weights).tolist() == [1, 1, 2, 4, 4, 4]


def test_numbers_are_on_the_device_and_texts_are_not(library):
    columns = library.to_device(np.array([1, 0]))
    take_classes = choose_backend(columns).take_classes
    assert library.holds(take_classes(np.array([10, 20]), columns))
    assert library.to_host(take_classes(np.array([10, 20]), columns)).tolist() == [20, 10]
    assert take_classes(np.array(["x", "y"]), columns).tolist() == ["y", "x"]


def test_sums(library, sets):
    for name in ("row_sums", "label_sums"):
        found = library.to_host(getattr(sets, name)(library.to_device(VALUES)))
        np.testing.assert_allclose(found, getattr(SETS, name)(VALUES), atol=1e-15)


def test_regression_on_the_support(library, sets):
    features, coef = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(2, 3)
    for off_support in (0.0, 1.0, np.array([1.0, 2.0, 3.0])):
        off = library.to_device(off_support) if isinstance(off_support, np.ndarray) else off_support
        found = sets.target_sums(library.to_device(features), library.to_device(VALUES), off)
        expected = SETS.target_sums(features, VALUES, off_support)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(library.to_host(a), b, atol=1e-14)
    outputs = sets.pair_outputs(
        library.to_device(features), library.to_device(coef), library.to_device(np.ones(3))
    )
    expected = SETS.pair_outputs(features, coef, np.ones(3))
    np.testing.assert_allclose(library.to_host(outputs), expected)
