"""Rows and weights: what is converted, and what is rejected."""

import numpy as np
import pytest
from damaged import FORMATS, KINDS, make_sparse
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from ambilearn import PLKNN
from ambilearn.validation import check_magnitude, check_row_weights, check_weights, validate_rows

X = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_largest_entry_must_be_in_range(form):
    for scale in (0, 1, 1e74, 1e-75):
        check_magnitude(form(X * scale))
    for scale in (1e75, 1e-77):
        message = r"The largest entry of X is 7e[+-]7[57] \(row 3, column 1\)"
        with pytest.raises(ValueError, match=message):
            check_magnitude(form(X * scale))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse_format", FORMATS)
def test_sparse_rows_become_a_csr_array(sparse_format, kind):
    found = validate_rows(PLKNN(), make_sparse(X.astype(np.int8), sparse_format, kind))
    assert isinstance(found, sparse.csr_array)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), X)


def test_entries_that_are_stored_in_two_parts_are_added_up():
    whole = sparse.csr_array(X)
    parts = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    halves = sparse.csr_array(parts, shape=X.shape)
    np.testing.assert_array_equal(validate_rows(PLKNN(), halves).data, whole.data)
    assert halves.nnz == 2 * whole.nnz  # the user's matrix is as it was


def test_sparse_rows_are_rejected_for_a_method_without_them():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        validate_rows(GaussianNB(), sparse.csr_array(X))


def test_weights_are_multiplied_and_equal_ones_are_none():
    rows = np.array([1.0, 2.0, 3.0, 4.0])
    assert check_row_weights(None, X) is None
    assert check_row_weights(np.ones(4), X) is None
    assert check_row_weights(1 / rows, X, rows) is None
    assert check_row_weights([2, 2, 1, 1], X, rows).tolist() == [2, 4, 3, 4]
    assert check_row_weights(None, X, rows).tolist() == rows.tolist()


def test_weights_of_zero_become_small_ones():
    assert check_row_weights([0, 2, 3, 3], X).tolist() == [2e-12, 2, 3, 3]


@pytest.mark.parametrize("scale", [1e80, 1e-80])
def test_weights_out_of_range_are_rejected(scale):
    with pytest.raises(ValueError, match="divide the weights by their mean"):
        check_row_weights(np.array([1, 2, 3, 4]) * scale, X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "expected"),
        ([1, -1, 1, 1], "[Nn]egative"),
        ([1, 2, np.nan, 1], "NaN"),
        ([0, 0, 0, 0], "at least one non-zero"),
        (["a", "b", "c", "d"], "sample_weight"),
    ],
)
def test_wrong_weights_are_rejected(weights, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weights, X)


def test_weights_are_copied():
    weights = np.ones(4)
    found = check_weights(weights, X)
    found[0] = 5
    assert weights.tolist() == [1, 1, 1, 1]
    assert check_weights(2, X).tolist() == [2, 2, 2, 2]
